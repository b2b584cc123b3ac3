// The stub's image that is started before an application, as it comes out of its own build
    .section .image, "a"
    .incbin "behind.bin"
