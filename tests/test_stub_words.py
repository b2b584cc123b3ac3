"""probe/stub has the words of the stub that the tool writes into RAM. They must be those of target-stub."""
import os
import struct

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("PMU_BUILD", "build"))


@pytest.mark.parametrize("kind, core", [("v7", "cortex-a9"), ("v8", "cortex-a53")])
def test_words_are_what_the_source_gives(kind, core):
    with open(os.path.join(ROOT, "probe", "stub", f"stub_{kind}.inc"), encoding="ascii") as file:
        kept = [int(word, 16) for word in file.read().replace(",", " ").split()]
    with open(os.path.join(BUILD, "stub", core, "pushed.bin"), "rb") as file:
        image = file.read()
    assert kept == list(struct.unpack(f"<{len(image) // 4}I", image)), "make stub-words writes them anew; read the diff"
