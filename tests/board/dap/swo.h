// The trace input of a CMSIS-DAP probe: a UART or Manchester receiver on the SWO pin, its buffer, and the
// commands that have DAP_SWO in their name. It does as Arm's firmware: bytes that find the buffer full are
// lost.
#ifndef BOARD_DAP_SWO_H
#define BOARD_DAP_SWO_H

#include "dap/bytes.h"

enum { SWO_BUFFER_MOST = 1 << 16, SWO_BUFFER = 4096, SWO_BAUD_MOST = 10000000, SWO_BLOCK = 512 };
// What it can do, for DAP_Info and --dap-swo
enum { SWO_UART = 1 << 2, SWO_MANCHESTER = 1 << 3, SWO_STREAM = 1 << 6 };
enum swo_mode { SWO_OFF, SWO_AS_UART, SWO_AS_MANCHESTER };
enum { SWO_NO_TRANSPORT, SWO_BY_COMMAND, SWO_BY_ENDPOINT };

struct swo {
    unsigned can;   // SWO_*; 0: it lacks the input
    size_t size;    // of the buffer
    bool by_steps;  // of the baud rates it has but some
    bool connected; // the pin is the trace's, not JTAG's TDO
    unsigned transport;
    enum swo_mode mode;
    uint32_t baud; // 0: none is set
    bool active, error, overrun;
    uint8_t buffer[SWO_BUFFER_MOST];
    size_t first, held;
    uint32_t taken;      // bytes that entered the buffer
    uint64_t lost;       // and those that found it full
    uint64_t waiting_ns; // since when bytes wait; on the host's clock
    // Lets the trace arrive until now. NULL: nothing is on the pin
    void (*catch_up)(void *self);
    void *self;
};

// Names joined by commas: uart, manchester, stream. false: one of them is unknown.
bool swo_parse(const char *text, unsigned *can);
// A byte on the pin, of a sender at that rate
void swo_receive(struct swo *, uint8_t byte, enum swo_mode, double sender_hz);
// For the endpoint: as many bytes as are to be sent now
size_t swo_stream(struct swo *, uint8_t *bytes, size_t room, uint64_t now_ns);

struct processor;
void swo_transport(struct processor *, struct bytes *, struct answer *);
void swo_set_mode(struct processor *, struct bytes *, struct answer *);
void swo_baudrate(struct processor *, struct bytes *, struct answer *);
void swo_control(struct processor *, struct bytes *, struct answer *);
void swo_status(struct processor *, struct bytes *, struct answer *);
void swo_extended_status(struct processor *, struct bytes *, struct answer *);
void swo_data(struct processor *, struct bytes *, struct answer *);

#endif
