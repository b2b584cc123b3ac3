#include "debuggers/access.h"

#include <stdarg.h>
#include <stdio.h>

const char *access_name(enum access_way way)
{
    static const char *const names[ACCESS_WAYS] = {[ACCESS_MEMORY] = "memory",
                                                   [ACCESS_REGISTERS] = "server's registers",
                                                   [ACCESS_OPENOCD] = "OpenOCD's monitor",
                                                   [ACCESS_JLINK] = "J-Link's monitor",
                                                   [ACCESS_PYOCD] = "pyOCD's monitor"};
    return way < ACCESS_WAYS ? names[way] : "none";
}

void access_say(struct access *access, enum access_way way, const char *format, ...)
{
    va_list arguments;
    if (access->why[way][0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(access->why[way], sizeof access->why[way], format, arguments);
    va_end(arguments);
}

void access_say_not_openocd(struct access *access, const char *server)
{
    if (server[0] != '\0')
        access_say(access, ACCESS_OPENOCD, "the server is %s", server);
    access_say(access, ACCESS_OPENOCD, "the server is not OpenOCD");
}
