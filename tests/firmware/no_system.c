// What newlib asks of an operating system: there is none. The linker warns of those in newlib's own nosys.specs.
struct stat;
int _close(int file);
int _fstat(int file, struct stat *status);
int _getpid(void);
int _isatty(int file);
int _kill(int process, int signal);
int _lseek(int file, int offset, int whence);
int _read(int file, char *bytes, int n);
int _write(int file, const char *bytes, int n);

int _close(int file)
{
    return (void)file, -1;
}

int _fstat(int file, struct stat *status)
{
    return (void)file, (void)status, -1;
}

int _getpid(void)
{
    return 1;
}

int _isatty(int file)
{
    return (void)file, 0;
}

int _kill(int process, int signal)
{
    return (void)process, (void)signal, -1;
}

int _lseek(int file, int offset, int whence)
{
    return (void)file, (void)offset, (void)whence, -1;
}

int _read(int file, char *bytes, int n)
{
    return (void)file, (void)bytes, (void)n, -1;
}

int _write(int file, const char *bytes, int n)
{
    return (void)file, (void)bytes, (void)n, -1;
}
