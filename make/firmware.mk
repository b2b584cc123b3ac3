# firmware
