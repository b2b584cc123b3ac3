#include "links/dap/wish.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usb_word[] = "cmsis-dap", tcp_word[] = "cmsis-dap-tcp";

/* What follows the word and its colon; NULL when the text begins with another word. */
static const char *after(const char *text, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(text, word, n) != 0 || (text[n] != '\0' && text[n] != ':'))
        return NULL;
    return text[n] == ':' ? text + n + 1 : text + n;
}

bool dap_wish_is(const char *probe)
{
    return after(probe, usb_word) != NULL || after(probe, tcp_word) != NULL;
}

bool dap_wish_names(const struct dap_wish *wish, uint16_t vendor, uint16_t product)
{
    return wish != NULL && wish->by_id && wish->vendor == vendor && wish->product == product;
}

/* Four hexadecimal digits, then `end`. */
static bool read_id(const char *text, char end, uint16_t *out)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)text[i]))
            return false;
        unsigned digit = isdigit((unsigned char)text[i]) ? (unsigned)(text[i] - '0') : (text[i] & 7U) + 9;
        value = value << 4 | digit;
    }
    *out = (uint16_t)value;
    return text[4] == end;
}

static bool read_port(const char *text, uint16_t *out, struct error *error)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value == 0 || value > 65535)
        return error_set(error, ERROR_USAGE, "--probe: \"%.32s\" is no port", text);
    *out = (uint16_t)value;
    return true;
}

static bool read_host(const char *text, struct dap_wish *out, struct error *error)
{
    bool bracket = text[0] == '[';
    const char *end = bracket ? strchr(text, ']') : strchr(text, ':');
    if (bracket && (end == NULL || (end[1] != '\0' && end[1] != ':')))
        return error_set(error, ERROR_USAGE, "--probe: an address in brackets must end with one");
    if (end == NULL)
        end = text + strlen(text);
    else if (!bracket && strchr(end + 1, ':') != NULL)
        return error_set(error, ERROR_USAGE, "--probe: put an IPv6 address in brackets");
    const char *host = text + bracket;
    size_t length = (size_t)(end - host);
    if (length >= sizeof out->host)
        return error_set(error, ERROR_USAGE, "--probe: the host's name is too long");
    if (length > 0)
        snprintf(out->host, sizeof out->host, "%.*s", (int)length, host);
    const char *port = bracket && *end != '\0' ? end + 1 : end;
    return *port == '\0' || read_port(port + 1, &out->port, error);
}

bool dap_wish_read(const char *probe, struct dap_wish *out, struct error *error)
{
    *out = (struct dap_wish){.port = DAP_TCP_PORT};
    snprintf(out->host, sizeof out->host, "localhost");
    const char *rest = after(probe, tcp_word);
    if (rest != NULL) {
        out->kind = DAP_TCP;
        return read_host(rest, out, error);
    }
    rest = after(probe, usb_word);
    if (rest == NULL)
        return error_set(error, ERROR_USAGE, "--probe %.64s: not a CMSIS-DAP probe", probe);
    uint16_t vendor, product;
    if (strlen(rest) == 9 && read_id(rest, ':', &vendor) && read_id(rest + 5, '\0', &product)) {
        out->by_id = true;
        out->vendor = vendor;
        out->product = product;
        return true;
    }
    if (strlen(rest) >= sizeof out->serial)
        return error_set(error, ERROR_USAGE, "--probe: the serial number is too long");
    snprintf(out->serial, sizeof out->serial, "%s", rest);
    return true;
}
