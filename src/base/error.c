/* SPDX-License-Identifier: MIT */
#include <vigil/base.h>

#include <limits.h>
#include <stddef.h>
#include <string.h>

/* NULL: not an error of the library's own. */
static const char *error_sentence(int error)
{
    switch (error) {
    case 0:
        return "no error";
    case EINVAL:
        return "an argument is NULL or out of range, or an option contradicts another; see the function's comment in "
               "its header";
    case ENOMEM:
        return "there is no memory left for this; nothing was changed";
    case EAGAIN:
        return "the queue is full, or the system gave no thread; try again later";
    case EBUSY:
        return "the task is already queued, or the object is in use; wait until it is done";
    case ESHUTDOWN:
        return "the pool or loop is stopping and no longer accepts work";
    case ECANCELED:
        return "the work was cancelled before it started";
    case ETIMEDOUT:
        return "the time given to the call ran out; what it waited for goes on";
    case EDEADLK:
        return "the call would wait for its own caller; make it from outside that task";
    case EPERM:
        return "the call belongs to another thread: the owner, or a worker inside a task";
    case ECHILD:
        return "the object belongs to the parent process of a fork; make a new one in this process";
    case ESTALE:
        return "the handle names something that no longer exists";
    case ENOENT:
        return "there is nothing by that name or number";
    case EIO:
        return "a task failed and gave no status of its own";
    case EALREADY:
        return "it has happened before: the promise is resolved, or the token aborted";
    case EPIPE:
        return "nobody is left who could settle the promise: its resolver was dropped";
    case EXDEV:
        return "the promise belongs to another loop; post its result over";
    case ENODATA:
        return "the value has been taken by somebody else";
    default:
        return NULL;
    }
}

const char *vigil_strerror(int error)
{
    /* Callers may pass errno itself. */
    int positive = error >= 0 ? error : error == INT_MIN ? INT_MAX : -error;
    const char *sentence = error_sentence(positive);
    /* strerror returns a constant or thread-local memory on glibc and musl. */
    return sentence != NULL ? sentence : strerror(positive);
}
