// JTAG: see the header. Reads are posted: the scan after the one that asked captures the answer.
#include "front/jtag.h"

enum state {
    RESET,
    IDLE,
    SELECT_DR,
    CAPTURE_DR,
    SHIFT_DR,
    EXIT1_DR,
    PAUSE_DR,
    EXIT2_DR,
    UPDATE_DR,
    SELECT_IR,
    CAPTURE_IR,
    SHIFT_IR,
    EXIT1_IR,
    PAUSE_IR,
    EXIT2_IR,
    UPDATE_IR,
};

static const uint8_t next_state[16][2] = {
    [RESET] = {IDLE, RESET},
    [IDLE] = {IDLE, SELECT_DR},
    [SELECT_DR] = {CAPTURE_DR, SELECT_IR},
    [CAPTURE_DR] = {SHIFT_DR, EXIT1_DR},
    [SHIFT_DR] = {SHIFT_DR, EXIT1_DR},
    [EXIT1_DR] = {PAUSE_DR, UPDATE_DR},
    [PAUSE_DR] = {PAUSE_DR, EXIT2_DR},
    [EXIT2_DR] = {SHIFT_DR, UPDATE_DR},
    [UPDATE_DR] = {IDLE, SELECT_DR},
    [SELECT_IR] = {CAPTURE_IR, RESET},
    [CAPTURE_IR] = {SHIFT_IR, EXIT1_IR},
    [SHIFT_IR] = {SHIFT_IR, EXIT1_IR},
    [EXIT1_IR] = {PAUSE_IR, UPDATE_IR},
    [PAUSE_IR] = {PAUSE_IR, EXIT2_IR},
    [EXIT2_IR] = {SHIFT_IR, UPDATE_IR},
    [UPDATE_IR] = {IDLE, SELECT_DR},
};

// IHI 0031 B3.2: instructions, and acknowledges as JTAG has them (a fault is OK/FAULT, too,
// but in protocol 1, where this port has no FAULT: IHI 0074)
enum { IR_ABORT = 0x8, IR_DPACC = 0xA, IR_APACC = 0xB, IR_IDCODE = 0xE, IR_LENGTH = 4, IR_CAPTURE = 1 };
enum { JTAG_WAIT = 1, JTAG_OK = 2, JTAG_OK_1 = 4, ACC_LENGTH = 35, ID_LENGTH = 32, BYPASS_LENGTH = 1 };

void jtag_init(struct jtag *j, struct adi *adi, uint32_t idcode)
{
    bool v6 = adi && (adi->quirks & ADI_V6); // which has protocol 1
    *j = (struct jtag){.adi = adi, .idcode = v6 ? SOC_600 : idcode, .protocol_1 = v6};
    jtag_reset(j);
}

void jtag_reset(struct jtag *j)
{
    j->state = RESET;
    j->instruction = IR_IDCODE;
}

// Asks the access port, again if need be
static void attempt(struct jtag *j)
{
    struct jtag_request *r = &j->request;
    enum ack ack;
    j->adi->wire = WIRE_JTAG;
    if (r->read)
        ack = adi_ap_read(j->adi, r->address, &j->result);
    else
        ack = adi_ap_write(j->adi, r->address, r->value);
    r->waiting = ack == ACK_WAIT;
    if (!r->read || ack != ACK_OK)
        j->result = 0;
}

static void capture_dr(struct jtag *j)
{
    switch (j->instruction) {
    case IR_IDCODE:
        j->shift = j->idcode;
        j->length = ID_LENGTH;
        break;
    case IR_DPACC:
    case IR_APACC:
        if (j->request.waiting)
            attempt(j);
        j->busy = j->request.waiting || adi_is_busy(j->adi);
        j->shift = (uint64_t)j->result << 3 | (j->busy ? JTAG_WAIT : j->protocol_1 ? JTAG_OK_1 : JTAG_OK);
        j->length = ACC_LENGTH;
        break;
    case IR_ABORT:
        j->shift = 0;
        j->length = ACC_LENGTH;
        break;
    default:
        j->shift = 0;
        j->length = BYPASS_LENGTH;
        break;
    }
}

static void update_dr(struct jtag *j)
{
    bool read = j->shift & 1;
    unsigned address = (unsigned)(j->shift >> 1 & 3) << 2;
    uint32_t value = (uint32_t)(j->shift >> 3);
    j->adi->wire = WIRE_JTAG;
    if (j->instruction == IR_ABORT) {
        adi_abort(j->adi, value);
        j->request.waiting = false;
        return;
    }
    if ((j->instruction != IR_DPACC && j->instruction != IR_APACC) || j->busy)
        return;
    j->result = 0;
    if (j->instruction == IR_APACC) {
        j->request = (struct jtag_request){.read = read, .address = address, .value = value};
        attempt(j);
    } else if (read) {
        adi_dp_read(j->adi, address, &j->result);
    } else {
        adi_dp_write(j->adi, address, value);
    }
}

static void shift_in(struct jtag *j, bool tdi, unsigned length)
{
    j->shift = j->shift >> 1 | (uint64_t)tdi << (length - 1);
}

void jtag_clock(struct jtag *j, bool tms, bool tdi)
{
    if (j->adi->off) {
        jtag_reset(j);
        return;
    }
    // A state acts on the rising edge that leaves it
    if (j->state == CAPTURE_DR)
        capture_dr(j);
    else if (j->state == SHIFT_DR)
        shift_in(j, tdi, j->length);
    else if (j->state == CAPTURE_IR)
        j->shift = IR_CAPTURE;
    else if (j->state == SHIFT_IR)
        shift_in(j, tdi, IR_LENGTH);
    j->state = next_state[j->state][tms];
    if (j->state == RESET)
        j->instruction = IR_IDCODE;
    else if (j->state == UPDATE_IR)
        j->instruction = (unsigned)j->shift & 0xF;
    else if (j->state == UPDATE_DR)
        update_dr(j);
}

bool jtag_tdo(const struct jtag *j)
{
    return !j->adi->off && (j->state == SHIFT_DR || j->state == SHIFT_IR) ? j->shift & 1 : true;
}
