"""The modelled card itself: counting against an oracle that goes cycle by cycle, 40-bit wraps, sticky overflow, write
semantics, resets, SPFLT."""
import errno
import os
import random
import struct

import pytest

from card import (ANY, CNTR0, CNTR1, CTRL, EDGE, EN, EVENTS, INV, MASK40, OS, OVF, SEL0, SEL1, SPFLT, STATUS, TSC, USR,
                  Card, card_available, expected)

pytestmark = pytest.mark.skipif(card_available() is not None, reason=str(card_available()))
SIBLINGS = {5: (5, 6, 7, 8), 0: (0, 241, 242, 243)}


@pytest.fixture(scope="module", name="card")
def the_card():
    with Card(hz=0) as card:
        card.now = 0
        yield card


def advance(card, cycles):
    card.control(f"advance {cycles}")
    card.now += cycles


@pytest.fixture(autouse=True)
def clean(card):
    card.control("reset")


def refused(card, msr, value=None):
    with pytest.raises(OSError) as caught:
        card.read(5, msr) if value is None else card.write(5, msr, value)
    return caught.value.errno == errno.EIO


def test_every_event_is_counted_as_it_happens(card):
    for code in sorted(EVENTS):
        card.write(5, SEL0, EN | USR | OS | code)
        card.write(5, CNTR0, 0)
        card.write(5, CTRL, 1)
        begin = card.now
        advance(card, 77)
        card.write(5, CTRL, 0)
        assert card.read(5, CNTR0) == expected(5, SIBLINGS[5], USR | OS | code, begin, card.now), hex(code)


def test_every_modifier_against_the_oracle(card):
    rng = random.Random(1)
    for _ in range(300):
        cpu, counter = rng.choice((0, 5)), rng.randrange(2)
        select = rng.choice(sorted(EVENTS)) | EN
        select |= sum(bit for bit in (USR, OS, EDGE, ANY, INV) if rng.random() < 0.5) | rng.randrange(6) << 24
        card.write(cpu, SEL0 + counter, select)
        card.write(cpu, CNTR0 + counter, 0)
        card.write(cpu, CTRL, 1 << counter)
        begin = card.now
        advance(card, rng.randrange(1, 200))
        assert card.read(cpu, CNTR0 + counter) == expected(cpu, SIBLINGS[cpu], select, begin, card.now,
                                                           counter), hex(select)
        card.write(cpu, CTRL, 0)


def test_a_counter_wraps_at_40_bits_and_its_flag_sticks(card):
    card.write(5, SEL0, EN | USR | OS | 0x2A)
    card.write(5, CNTR0, MASK40 - 9)
    card.write(5, CTRL, 1)
    begin = card.now
    advance(card, 1000)
    count = expected(5, SIBLINGS[5], USR | OS | 0x2A, begin, card.now)
    assert card.read(5, CNTR0) == MASK40 - 9 + count - (1 << 40)
    assert card.read(5, STATUS) == 1
    card.write(5, CNTR0, 0)
    card.write(5, CTRL, 0)
    card.write(5, OVF, 2)
    assert card.read(5, STATUS) == 1
    card.write(5, OVF, 1)
    assert card.read(5, STATUS) == 0


def test_what_is_needed_to_count(card):
    """A counter counts if its own enable bit and the global one are set, and with SPFLT also the program's."""
    for own, control, spflt, counts in ((EN, 1, 0, True), (0, 1, 0, False), (EN, 0, 0, False), (EN, 2, 0, False),
                                        (EN, 1, 1, False), (EN, 1, 2, True), (EN, 1, 1 << 63 | 1, True)):
        card.write(5, SEL0, own | USR | OS | 0x2A)
        card.write(5, CNTR0, 0)
        card.write(5, SPFLT, spflt)
        card.write(5, CTRL, control)
        advance(card, 100)
        assert (card.read(5, CNTR0) > 0) == counts
    card.write(5, SPFLT, 1)
    card.control("spflt 5 1")
    assert card.read(5, SPFLT) == 1 << 63 | 1
    advance(card, 100)
    value = card.read(5, CNTR0)
    card.control("spflt 5 0")
    advance(card, 100)
    assert card.read(5, CNTR0) == value > 0


def test_what_can_be_written(card):
    card.write(5, CNTR1, 0xFFFF_FFFF_FFFF_FFFF)
    assert card.read(5, CNTR1) == MASK40  # all 40 bits, and no more
    assert refused(card, STATUS, 0) and refused(card, OVF)
    for msr, value in ((SEL0, 1 << 32), (SEL1, 1 << 19), (SPFLT, 4), (OVF, 4), (CTRL, 4), (CTRL, 1 << 32)):
        assert refused(card, msr, value), hex(msr)
    for msr in (0, 0xF, 0x11, 0x1F, 0x22, 0x27, 0x2A, 0x2B, 0x30, 0x120, 0xFFFFFFFF):
        assert refused(card, msr) and refused(card, msr, 0), hex(msr)


def test_a_register_is_eight_bytes_at_its_number(card):
    card.write(5, CNTR0, 0x1122334455)
    card.write(5, CNTR1, 0x5544332211)
    assert os.pread(card.msr(5), 16, CNTR0) == struct.pack("<QQ", 0x1122334455, 0x1122334455)
    with pytest.raises(OSError) as caught:
        os.pread(card.msr(5), 4, CNTR0)
    assert caught.value.errno == errno.EINVAL


def test_resets(card):
    for msr, value in ((SEL0, EN | 0x2A), (SEL1, 3), (SPFLT, 3), (CTRL, 2), (CNTR0, 9)):
        card.write(5, msr, value)
    before = card.registers((5,))
    card.control("init")
    assert card.registers((5,)) == before
    card.control("reset")
    assert set(card.registers((5,)).values()) == {0}


def test_244_threads_of_61_cores(card):
    cores = [card.core_of(cpu) for cpu in range(244)]
    assert cores[0] == cores[241] == cores[242] == cores[243] == 60
    assert all(cores[cpu] == (cpu - 1) // 4 for cpu in range(1, 241))
    assert not os.path.exists(os.path.join(card.root, "dev/cpu/244"))
    card.write(7, SEL0, 7)
    assert card.read(8, SEL0) == 0
    assert card.read(5, TSC) == card.read(8, TSC) != card.read(9, TSC)
