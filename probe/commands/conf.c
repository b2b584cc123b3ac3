#include "commands/options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char file_name[] = "pmu-probe.conf";

/* ---- where it is, and whose */

/* False: there is no such place. A folder that is named relative to the current one is nobody's own. */
static bool name_own(char *out, size_t size)
{
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int used = -1;
    if (folder != NULL && folder[0] == '/')
        used = snprintf(out, size, "%s/pmu-probe/%s", folder, file_name);
    else if (home != NULL && home[0] == '/')
        used = snprintf(out, size, "%s/.config/pmu-probe/%s", home, file_name);
    return used > 0 && (size_t)used < size;
}

/* With sudo it may be of the user who typed that. */
static bool is_of_user(uid_t owner)
{
    uint64_t user;
    const char *before = getenv("SUDO_UID");
    if (owner == geteuid() || owner == 0)
        return true;
    return geteuid() == 0 && before != NULL && value_count(before, UINT32_MAX, &user) && owner == user;
}

/* Judges what was opened: nobody can change it in between, and a symbolic link is as good as its file. */
static bool judge(const struct conf *conf, const struct stat *status, bool trusted, struct error *error)
{
    if (!S_ISREG(status->st_mode))
        return error_set(error, ERROR_USAGE, "%s is no plain file", conf->name);
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return error_advise(error, ERROR_USAGE, "Look at what it says, then: chmod go-w FILE",
                            "%s is not read, because %s may write it", conf->name,
                            (status->st_mode & S_IWOTH) != 0 ? "everybody" : "its group");
    return trusted || is_of_user(status->st_uid) ||
           error_advise(
               error, ERROR_USAGE, "If you trust that user, add --trust-conf; or make a copy that is yours.",
               "%s is not read, because it belongs to user %lu", conf->name, (unsigned long)status->st_uid);
}

/* ---- what it says */

static bool read_text(struct conf *conf, int fd, struct error *error)
{
    enum { LARGEST = 65536 };
    conf->text = conf->rest = calloc(1, LARGEST + 2);
    size_t length = 0;
    ssize_t n = conf->text != NULL ? 1 : -1;
    while (n > 0 && length <= LARGEST) {
        n = read(fd, conf->text + length, LARGEST + 1 - length);
        length += n > 0 ? (size_t)n : 0;
    }
    if (n < 0)
        return error_set(error, ERROR_USAGE, "%s cannot be read", conf->name);
    if (length > LARGEST)
        return error_set(error, ERROR_USAGE, "%s is larger than 64 KiB", conf->name);
    return memchr(conf->text, '\0', length) == NULL ||
           error_set(error, ERROR_USAGE, "%s is no text: it has a zero byte", conf->name);
}

bool conf_open(struct conf *conf, enum conf_which which, bool trusted, struct error *error)
{
    *conf = (struct conf){.is_own = which == CONF_OWN};
    snprintf(conf->name, sizeof conf->name, "%s", file_name);
    if (conf->is_own && !name_own(conf->name, sizeof conf->name))
        return true;
    int fd = open(conf->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    /* The folders of a home may be closed to a user who is not at home there */
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || (conf->is_own && errno == EACCES)))
        return true;
    if (fd < 0)
        return error_set(error, ERROR_USAGE, "%s: %s", conf->name, strerror(errno));
    struct stat status, own;
    bool ok = fstat(fd, &status) == 0 && judge(conf, &status, trusted, error) && read_text(conf, fd, error);
    close(fd);
    char path[sizeof conf->name];
    if (ok && !conf->is_own && name_own(path, sizeof path) && stat(path, &own) == 0)
        conf->is_own = own.st_dev == status.st_dev && own.st_ino == status.st_ino;
    return ok || error_set(error, ERROR_USAGE, "%s cannot be read", conf->name);
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

bool conf_next(struct conf *conf, char **key, char **value)
{
    while (conf->rest != NULL) {
        char *line = conf->rest;
        conf->rest = strchr(line, '\n');
        if (conf->rest != NULL)
            *conf->rest++ = '\0';
        conf->line++;
        line = trim(line);
        if (*line == '\0' || *line == '#')
            continue;
        char *equals = strchr(line, '=');
        *value = equals != NULL ? trim(equals + 1) : NULL;
        if (equals != NULL)
            *equals = '\0';
        *key = trim(line);
        return true;
    }
    return false;
}
