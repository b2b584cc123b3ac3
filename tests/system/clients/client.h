// A USB client that tests drive by lines: what to do is read from standard input, each line is answered by
// one.
//   open              finds the probe: "ok SERIAL PACKET-SIZE" or an error
//   close
//   out HEX [MILLISECONDS]   "ok"
//   in MILLISECONDS   the reply in hexadecimal
//   trace MILLISECONDS   what the endpoint for trace gives, in hexadecimal; with libusb alone
//   rounds N HEX      N requests, each with its reply: the seconds they took
// Errors are "error NAME". The same loop is used with libusb and with hidapi.
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLIENT_PACKET = 1024, CLIENT_TIMEOUT_MS = 5000 };

struct client {
    void *self;
    // NULL: all went well; else the error's name
    const char *(*open)(void *self, char *serial, size_t room, size_t *packet_size);
    void (*close)(void *self);
    const char *(*out)(void *self, const uint8_t *bytes, size_t length, int timeout_ms);
    const char *(*in)(void *self, uint8_t *bytes, size_t room, size_t *length, int timeout_ms);
    const char *(*trace)(void *self, uint8_t *bytes, size_t room, size_t *length, int timeout_ms); // or NULL
};

void client_run(const struct client *);

#endif
