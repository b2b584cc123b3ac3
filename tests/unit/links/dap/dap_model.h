/*
 * A CMSIS-DAP probe in front of the modelled debug port, for unit tests: bytes to bytes. Transfers are
 * carried out as the reference firmware does: posted reads, value match, check of the last write.
 */
#pragma once

#include "port_model.h"

/* ---- DAP_Transfer */

struct model_reply {
    uint8_t *bytes;
    size_t n;
};

static void model_put(struct model_reply *reply, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        reply->bytes[reply->n++] = (uint8_t)(word >> 8 * i);
}

static uint32_t model_get(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static int model_match(struct model *m, uint8_t request, uint32_t wanted)
{
    uint32_t data = 0;
    unsigned reads = m->match_retry + (m->fewer_reads ? 0 : 1);
    int ack = M_OK;
    if ((request & 1) || m->jtag)
        ack = model_patient(m, request & 0xF, NULL);
    while (ack == M_OK && reads-- > 0) {
        ack = model_patient(m, request & 0xF, &data);
        if (ack == M_OK && (data & m->match_mask) == wanted)
            return M_OK;
    }
    return ack | 0x10;
}

/* Whether a read gives its value only with the next transfer. */
static bool model_posts(const struct model *m, uint8_t request)
{
    return (request & 2) && (m->jtag || (request & 1));
}

/* Whether one read can fetch the value of another and post its own. */
static bool model_chains(const struct model *m, uint8_t before, uint8_t request)
{
    if (m->loses_place)
        return model_posts(m, request);
    return model_posts(m, request) && !((before ^ request) & 1) && !(request & 0x10);
}

/* The word of a posted read, which `request` brings: a debug port's was there at once, and is in *word. `own`
 * is what the request itself gives. */
static int model_fetch(struct model *m, uint8_t posted, uint8_t request, uint32_t *word, uint32_t *own)
{
    uint32_t data = m->selected < 0 ? 0 : m->ports[m->selected].posted;
    *word = posted & 1 ? data : *word;
    return model_patient(m, request, own);
}

static size_t model_transfer(struct model *m, const uint8_t *q, size_t n, uint8_t *out)
{
    struct model_reply reply = {out, 3};
    unsigned wanted = q[2], done = 0;
    uint8_t posted = 0; /* the request */
    int ack = 0;
    bool written = false, spoils = false;
    size_t at = 3;
    uint32_t data = 0, word = 0, own = 0;
    for (; done < wanted && at < n; done++) {
        uint8_t request = q[at++];
        bool match = (request & 0x12) == 0x12 && m->has_match, mask = (request & 0x22) == 0x20;
        if (posted != 0) {
            bool chains = model_chains(m, posted, request);
            ack = model_fetch(m, posted, chains ? request & 0xF : 0xE, &word, &own);
            if (ack != M_OK)
                break;
            model_put(&reply, word);
            posted = chains ? request : 0;
            word = own;
            if (chains) /* in a firmware that loses its place, what a match compares with is taken for
                           requests */
                continue;
        }
        if (!(request & 2) || (request & 0x10)) {
            if (at + 4 > n)
                break;
            data = model_get(q + at);
            at += 4;
        }
        if (match) {
            ack = model_match(m, request, data);
            spoils = m->spoils_next;
        } else if (request & 2) {
            ack = model_patient(m, request & 0xF, &word);
            word ^= spoils ? UINT32_MAX : 0;
            spoils = false;
            if (ack == M_OK && model_posts(m, request))
                posted = request;
            else if (ack == M_OK)
                model_put(&reply, word);
        } else if (mask) {
            m->match_mask = data;
            ack = M_OK;
        } else {
            ack = model_patient(m, request & 0xF, &data);
        }
        written = mask ? written : !(request & 2);
        if (ack != M_OK)
            break;
    }
    if (ack == M_OK && posted != 0) {
        ack = model_fetch(m, posted, 0xE, &word, &own);
        if (ack == M_OK)
            model_put(&reply, word);
    } else if (ack == M_OK && written) {
        ack = model_patient(m, 0xE, NULL);
    }
    out[1] = (uint8_t)done;
    out[2] = (uint8_t)ack;
    return reply.n;
}

/* ---- the other commands */

static bool model_contains(const uint8_t *bytes, size_t n, const char *what, size_t length)
{
    for (size_t i = 0; i + length <= n; i++)
        if (memcmp(bytes + i, what, length) == 0)
            return true;
    return false;
}

static void model_sequence(struct model *m, const uint8_t *bits, size_t n)
{
    if (model_contains(bits, n, "\xBC\xE3", 2) && m->device_id != 0)
        m->needs_wake = true;
    if (model_contains(bits, n, "\x92\xF3\x09\x62\x95\x2D\x85\x86\xE9\xAF\xDD\xE3\xA2\x0E\xBC\x19\xA0\xF1",
                       18))
        m->needs_wake = false;
    if (!model_contains(bits, n, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x00", 8) &&
        !(m->jtag && model_contains(bits, n, "\xFF", 1)))
        return;
    m->silent = false;
    m->listening = true;
    m->selected = m->device_id == 0 ? 0 : -1;
    if (m->v6) /* IHI 0074 B4.3.3 */
        m->ports[0].select &= ~0xFU;
}

static void model_target_select(struct model *m, const uint8_t *q)
{
    uint32_t device = model_get(q + 6);
    bool right = q[1] == 3 && q[2] == 8 && q[3] == 0x99 && q[4] == 0x85 && q[5] == 33 &&
                 (q[10] & 1) == __builtin_parity(device);
    if (right && m->listening && !m->needs_wake && ((device ^ m->device_id) & 0x0FFFFFFF) == 0 &&
        device >> 28 < m->n_ports)
        m->selected = (int)(device >> 28);
}

static size_t model_info(const struct model *m, uint8_t id, uint8_t *out)
{
    const char *text = id == 1   ? "maker"
                       : id == 2 ? "model probe"
                       : id == 3 ? "M0DE1"
                       : id == 4 ? "2.1.1"
                                 : NULL;
    if (text != NULL) {
        out[1] = (uint8_t)(strlen(text) + 1);
        memcpy(out + 2, text, strlen(text) + 1);
        return 2 + out[1];
    }
    out[1] = id == 0xFF ? 2 : id == 0xFE || id == 0xF0 ? 1 : 0;
    out[2] = (uint8_t)(id == 0xFF ? m->packet_size : id == 0xFE ? m->packet_count : m->capabilities);
    out[3] = (uint8_t)(m->packet_size >> 8);
    return 2 + (size_t)out[1];
}

/* One request; returns the reply's length. */
static size_t model_command(struct model *m, const uint8_t *q, size_t n, uint8_t *out)
{
    size_t length = 2;
    m->packets++;
    out[0] = q[0];
    out[1] = 0;
    switch (q[0]) {
    case 0x00:
        length = model_info(m, q[1], out);
        break;
    case 0x02:
        out[1] = q[1];
        break;
    case 0x04:
        m->wait_retry = q[2] | (unsigned)q[3] << 8;
        m->match_retry = q[4] | (unsigned)q[5] << 8;
        break;
    case 0x05:
        length = model_transfer(m, q, n, out);
        break;
    case 0x08:
        m->aborts += q[2] & 1;
        m->ports[0].stuck = m->ports[0].stuck && !(q[2] & 1);
        break;
    case 0x12:
        model_sequence(m, q + 2, n - 2);
        break;
    case 0x11:
        m->hz = model_get(q + 1);
        break;
    case 0x01:
    case 0x03:
    case 0x13:
        break;
    case 0x1D:
        if (m->has_swd_sequence) {
            model_target_select(m, q);
            out[2] = 0x1F;
            length = 3;
            break;
        }
        /* fall through */
    default:
        out[0] = 0xFF;
        length = 1;
    }
    m->overlong += n > m->packet_size || length > m->packet_size;
    return length;
}
