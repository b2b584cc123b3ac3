// The stub's image that is started before an application, as its own build makes it
    .section .image, "a"
    .incbin "behind.bin"
