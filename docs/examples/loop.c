/* SPDX-License-Identifier: MIT */
/* Examples of vigil/loop.h, one for each function. */
#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vigil/loop.h>

static void print(void *text)
{
    printf("%s\n", (const char *)text);
}

/* vigil_post_init: make a post in your own struct */
struct message {
    vigil_post post; /* first */
    const char *text;
};

static void show_message(vigil_post *post)
{
    printf("%s\n", ((struct message *)post)->text);
}

static void make_a_post(struct message *message)
{
    vigil_post_init(&message->post, show_message, NULL);
}

/* vigil_loop_create: make a loop */
static vigil_loop *make_a_loop(void)
{
    vigil_loop *loop;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.name = "main";
    int rc = vigil_loop_create(&loop, &options);
    if (rc < 0) {
        fprintf(stderr, "no loop: %s\n", vigil_strerror(rc));
        exit(1);
    }
    return loop;
}

/* vigil_loop_run: run a loop on the calling thread */
static void run_to_the_end(vigil_loop *loop)
{
    /* Returns when nothing keeps the loop alive any more. */
    int rc = vigil_loop_run(loop, VIGIL_RUN);
    assert(rc == 0);
}

/* vigil_loop_pause: let vigil_loop_run return */
static void pause_here(void *loop)
{
    vigil_loop_pause(loop);
}

static void run_twice(vigil_loop *loop)
{
    vigil_loop_call(loop, pause_here, NULL, loop);
    int rc = vigil_loop_run(loop, VIGIL_RUN);
    assert(rc == 1); /* paused: it may be run again */
    rc = vigil_loop_run(loop, VIGIL_RUN);
    assert(rc == 0);
}

/* vigil_loop_shutdown: end a loop after what was accepted has run */
static void on_sigterm(vigil_loop *loop, vigil_signal signal,
                       const vigil_signal_info *info, void *arg)
{
    (void)signal;
    (void)info;
    (void)arg;
    /* Inside a callback it returns at once; the loop ends after it. */
    vigil_loop_shutdown(loop, 5000000000);
}

/* vigil_loop_close: end a loop now */
static void end_now(vigil_loop *loop)
{
    vigil_loop_close(loop, VIGIL_FOREVER); /* cancel callbacks run */
    vigil_loop_destroy(loop);
}

/* vigil_loop_wait: wait until a loop is done */
static void wait_for_the_end(vigil_loop *loop)
{
    /* On another thread than the one that runs it. */
    if (vigil_loop_wait(loop, 1000000000) == 0)
        printf("no callback runs any more\n");
}

/* vigil_loop_destroy: give a loop back */
static void give_the_loop_back(vigil_loop *loop)
{
    vigil_loop_destroy(loop); /* closes it first if nobody has */
}

/* vigil_loop_state_get: get the state of a loop */
static bool has_ended(const vigil_loop *loop)
{
    return vigil_loop_state_get(loop) == VIGIL_LOOP_TERMINATED;
}

/* vigil_loop_is_owner: ask whether the calling thread runs the loop */
static int print_on_the_loop(vigil_loop *loop, char *text)
{
    if (vigil_loop_is_owner(loop)) {
        print(text);
        return 0;
    }
    return vigil_loop_call(loop, print, NULL, text);
}

/* vigil_loop_fork: take a loop over in the child of a fork */
static void fork_with_a_loop(vigil_loop *loop)
{
    pid_t pid = fork();
    if (pid == 0) {
        assert(vigil_loop_run(loop, VIGIL_RUN) == -ECHILD);
        if (vigil_loop_fork(loop) < 0)
            _exit(1);
        vigil_loop_run(loop, VIGIL_RUN); /* the same timers and posts */
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert(status == 0);
}

/* vigil_loop_call: call a function on the loop, from any thread */
static int print_later(vigil_loop *loop)
{
    return vigil_loop_call(loop, print, NULL, "a call");
}

/* vigil_loop_post: post work that lives in your own struct */
static void post_once(vigil_loop *loop, struct message *message)
{
    message->text = "a post";
    vigil_post_init(&message->post, show_message, NULL);
    int rc = vigil_loop_post(loop, &message->post);
    assert(rc == 0);
    rc = vigil_loop_post(loop, &message->post);
    assert(rc == -EBUSY); /* queued already: one call is enough */
}

/* vigil_loop_post_from_handler: post inside a signal handler */
static vigil_loop *alarm_loop; /* set before the handler is */
static struct message alarm_message;

static void on_alarm(int signo)
{
    (void)signo;
    /* -EBUSY: the last one has not run yet. */
    (void)vigil_loop_post_from_handler(alarm_loop, &alarm_message.post);
}

static void watch_the_clock(vigil_loop *loop)
{
    alarm_loop = loop;
    alarm_message.text = "alarm";
    vigil_post_init(&alarm_message.post, show_message, NULL);
    signal(SIGALRM, on_alarm);
}

/* vigil_loop_post_internal: post work that goes before all posts */
static int post_first(vigil_loop *loop, struct message *message)
{
    message->text = "before all posts";
    vigil_post_init(&message->post, show_message, NULL);
    return vigil_loop_post_internal(loop, &message->post);
}

/*
 * vigil_loop_ref: keep a loop alive
 * vigil_loop_unref: no longer keep a loop alive
 */
static void result_is_there(void *loop)
{
    vigil_loop_unref(loop); /* now it may end */
}

static int wait_for_a_result(vigil_loop *loop)
{
    vigil_loop_ref(loop); /* something outside will come back */
    return vigil_loop_call(loop, result_is_there, NULL, loop);
}

/*
 * vigil_loop_at_end_add: have a function called when the loop has ended
 * vigil_loop_at_end_remove: take that back
 * vigil_at_end_init: make a node for the end of a loop
 */
struct session {
    vigil_at_end node; /* first */
    bool ended;
};

static void end_session(vigil_at_end *node)
{
    ((struct session *)node)->ended = true;
}

static int begin_session(vigil_loop *loop, struct session *session)
{
    session->ended = false;
    vigil_at_end_init(&session->node, end_session);
    return vigil_loop_at_end_add(loop, &session->node);
}

static int leave_session(vigil_loop *loop, struct session *session)
{
    return vigil_loop_at_end_remove(loop, &session->node);
}

/* vigil_loop_tick_call: call a function before all microtasks */
static int tick_from_a_callback(vigil_loop *loop)
{
    return vigil_loop_tick_call(loop, print, NULL, "a tick");
}

/* vigil_loop_microtask_call: call a function at the next checkpoint */
static int microtask_from_a_callback(vigil_loop *loop)
{
    return vigil_loop_microtask_call(loop, print, NULL, "a microtask");
}

/* vigil_loop_tick: queue a tick that lives in your own struct */
static int tick_without_memory(vigil_loop *loop,
                               struct message *message)
{
    message->text = "a tick of our own";
    vigil_post_init(&message->post, show_message, NULL);
    return vigil_loop_tick(loop, &message->post);
}

/* vigil_loop_microtask: queue a microtask of your own struct */
static int microtask_without_memory(vigil_loop *loop,
                                    struct message *message)
{
    message->text = "a microtask of our own";
    vigil_post_init(&message->post, show_message, NULL);
    return vigil_loop_microtask(loop, &message->post);
}

/* vigil_loop_immediate_call: call a function after the poll */
static int after_the_poll(vigil_loop *loop)
{
    return vigil_loop_immediate_call(loop, print, NULL, "an immediate");
}

/* vigil_loop_immediate: queue an immediate of your own struct */
static int immediate_without_memory(vigil_loop *loop,
                                    struct message *message)
{
    message->text = "an immediate of our own";
    vigil_post_init(&message->post, show_message, NULL);
    return vigil_loop_immediate(loop, &message->post);
}

/* vigil_loop_post_remove: take back a post that has not run */
static bool change_our_mind(vigil_loop *loop, struct message *message)
{
    return vigil_loop_post_remove(loop, &message->post) == 0;
}

/* vigil_loop_defer_call: call a function at the end of the turn */
static int free_later(vigil_loop *loop, void *memory)
{
    /* Callbacks of this turn may still look at the memory. */
    return vigil_loop_defer_call(loop, free, free, memory);
}

/* vigil_loop_now: get the time of the turn */
static uint64_t age_of(vigil_loop *loop, uint64_t made_ns)
{
    return vigil_loop_now(loop) - made_ns; /* no system call */
}

/* vigil_loop_now_update: read the clock and make it the loop's time */
static uint64_t after_long_work(vigil_loop *loop)
{
    return vigil_loop_now_update(loop);
}

/* vigil_timer_start: start a timer */
static void later(vigil_loop *loop, vigil_timer timer, void *text)
{
    (void)loop;
    (void)timer;
    printf("%s\n", (const char *)text);
}

static int remind(vigil_loop *loop)
{
    /* In 5 ms; NULL: nobody will cancel it. */
    return vigil_timer_start(loop, 5000000, later, "5 ms later", NULL);
}

/* vigil_timer_start_with: start a timer that repeats */
static void thrice(vigil_loop *loop, vigil_timer timer, void *arg)
{
    int *count = arg;
    *count += 1;
    if (*count == 3)
        vigil_timer_cancel(loop, timer);
}

static int repeat(vigil_loop *loop, int *count)
{
    vigil_timer_options every = VIGIL_TIMER_OPTIONS_INIT;
    every.delay_ns = 1000000;
    every.interval_ns = 1000000;
    return vigil_timer_start_with(loop, &every, thrice, count, NULL);
}

/* vigil_timer_cancel: cancel a timer */
static void cancel_a_timer(vigil_loop *loop)
{
    vigil_timer timer;
    if (vigil_timer_start(loop, 1000000000, later, "never", &timer) < 0)
        return;
    int rc = vigil_timer_cancel(loop, timer);
    assert(rc == 0); /* it will not run */
    rc = vigil_timer_cancel(loop, timer);
    assert(rc == -ESTALE);
}

/* vigil_timer_cancel_many: cancel many timers */
static void cancel_all(vigil_loop *loop, const vigil_timer *timers,
                       size_t count)
{
    int stopped = vigil_timer_cancel_many(loop, timers, count);
    printf("%d of %zu will not run\n", stopped, count);
}

/* vigil_timer_again: give a timer a new deadline */
static void on_input(vigil_loop *loop, vigil_timer idle_timer)
{
    vigil_timer_again(loop, idle_timer,
                      30000000000); /* 30 s from now */
}

/* vigil_timer_again_at: give a timer a new absolute deadline */
static int at_the_next_second(vigil_loop *loop, vigil_timer timer)
{
    uint64_t now = vigil_loop_now(loop);
    uint64_t next = now - now % 1000000000 + 1000000000;
    return vigil_timer_again_at(loop, timer, next);
}

/*
 * vigil_timer_ref: let a timer keep its loop alive
 * vigil_timer_unref: do not let a timer keep its loop alive
 */
static void only_while_busy(vigil_loop *loop, vigil_timer heartbeat,
                            bool busy)
{
    if (busy)
        vigil_timer_ref(loop, heartbeat);
    else
        vigil_timer_unref(loop, heartbeat);
}

/*
 * vigil_watch_ref: let a watch keep its loop alive
 * vigil_watch_unref: do not let a watch keep its loop alive
 * vigil_child_ref: let a child watch keep its loop alive
 * vigil_child_unref: do not let a child watch keep its loop alive
 * vigil_signal_ref: let a signal watch keep its loop alive
 * vigil_signal_unref: do not let a signal watch keep its loop alive
 */
void keep_by(vigil_loop *loop, vigil_watch watch, vigil_child child,
             vigil_signal signal, bool on);
void keep_by(vigil_loop *loop, vigil_watch watch, vigil_child child,
             vigil_signal signal, bool on)
{
    if (on) {
        vigil_watch_ref(loop, watch);
        vigil_child_ref(loop, child);
        vigil_signal_ref(loop, signal);
    } else {
        vigil_watch_unref(loop, watch);
        vigil_child_unref(loop, child);
        vigil_signal_unref(loop, signal);
    }
}

/* vigil_timer_deadline: ask when a timer will fire */
static int64_t time_left(vigil_loop *loop, vigil_timer timer)
{
    uint64_t deadline;
    int rc = vigil_timer_deadline(loop, timer, &deadline);
    return rc < 0 ? rc : (int64_t)(deadline - vigil_loop_now(loop));
}

/* vigil_watch_add: watch a descriptor */
static void on_readable(vigil_loop *loop, vigil_watch watch, int fd,
                        unsigned events, void *arg)
{
    char bytes[64];
    (void)arg;
    if ((events & VIGIL_FD_READ) && read(fd, bytes, sizeof bytes) > 0)
        printf("read\n");
    vigil_watch_remove(loop, watch);
}

static int watch_a_pipe(vigil_loop *loop, int fd, vigil_watch *watch)
{
    return vigil_watch_add(loop, fd, VIGIL_FD_READ, 0, on_readable,
                           NULL, NULL, watch);
}

/* vigil_watch_modify: watch a descriptor for other events */
static int wait_until_writable(vigil_loop *loop, vigil_watch watch)
{
    return vigil_watch_modify(loop, watch, VIGIL_FD_WRITE);
}

/* vigil_watch_remove: no longer watch a descriptor */
static void hang_up(vigil_loop *loop, vigil_watch watch, int fd)
{
    vigil_watch_remove(loop, watch); /* first */
    close(fd);
}

/* vigil_loop_fast_path_set: choose where the loop sleeps */
static int sleep_in_the_poller(vigil_loop *loop)
{
    return vigil_loop_fast_path_set(loop, VIGIL_FAST_PATH_DISABLED);
}

/* vigil_loop_fd: get a descriptor for another loop to poll */
static void live_in_another_loop(vigil_loop *loop)
{
    struct pollfd other = {.fd = vigil_loop_fd(loop), .events = POLLIN};
    if (other.fd >= 0 && poll(&other, 1, 1000) == 1)
        vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
}

/*
 * vigil_hook_add: let another library live on this loop
 * vigil_hook_remove: take the hooks back
 */
static int64_t prepare(vigil_loop *loop, void *arg)
{
    int *queued = arg;
    (void)loop;
    return *queued > 0 ? 0 : -1; /* how long the poll may block */
}

static void check(vigil_loop *loop, void *arg)
{
    int *queued = arg;
    (void)loop;
    if (*queued > 0)
        *queued -= 1;
}

static int host_a_library(vigil_loop *loop, int *queued)
{
    vigil_hook hook;
    vigil_hook_calls calls = VIGIL_HOOK_CALLS_INIT;
    calls.prepare = prepare;
    calls.check = check;
    int rc = vigil_hook_add(loop, &calls, queued, &hook);
    if (rc < 0)
        return rc;
    vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
    return vigil_hook_remove(loop, hook);
}

/*
 * vigil_signal_add: call a function when a signal comes
 * vigil_signal_remove: no longer watch a signal
 */
static void on_hangup(vigil_loop *loop, vigil_signal signal,
                      const vigil_signal_info *info, void *arg)
{
    (void)arg;
    printf("signal %d\n", info->signo);
    vigil_signal_remove(loop, signal);
}

static int reload_on_sighup(vigil_loop *loop)
{
    vigil_signal signal;
    return vigil_signal_add(loop, SIGHUP, on_hangup, NULL, &signal);
}

/* vigil_child_add: call a function when a child has ended */
static void on_exit_of_child(vigil_loop *loop, vigil_child child,
                             pid_t pid, int code, int status, void *arg)
{
    (void)loop;
    (void)child;
    (void)pid;
    (void)arg;
    if (code == CLD_EXITED)
        printf("exit status %d\n", status);
}

static int start_a_child(vigil_loop *loop)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    return vigil_child_add(loop, pid, on_exit_of_child, NULL, NULL);
}

/* vigil_child_remove: no longer watch a child */
static void leave_child_alone(vigil_loop *loop, vigil_child child,
                              pid_t pid)
{
    if (vigil_child_remove(loop, child) == 0)
        waitpid(pid, NULL, 0); /* it is ours to reap again */
}

/* vigil_loop_keepers: list what keeps a loop alive */
static void count_timers(vigil_loop *loop)
{
    vigil_keeper keepers[16];
    int count = vigil_loop_keepers(loop, keepers, 16);
    int timers = 0;
    for (int i = 0; i < count && i < 16; i++)
        timers += keepers[i].kind == VIGIL_KEEPER_TIMER;
    printf("%d timers keep it alive\n", timers);
}

/* vigil_loop_explain: say in words what keeps a loop alive */
static void why_does_it_not_end(vigil_loop *loop)
{
    char text[512];
    vigil_loop_explain(loop, text, sizeof text);
    fputs(text, stdout);
}

/* vigil_loop_shows: name what a callback runs from here on */
static const char on_click[] = "on_click";

static void dispatch(void *loop)
{
    vigil_loop_shows(loop, on_click); /* see vigil_record_name */
    printf("click\n");
}

/* vigil_loop_stats_get: get the counters of a loop */
static void print_counters(vigil_loop *loop)
{
    vigil_loop_stats stats = VIGIL_LOOP_STATS_INIT;
    if (vigil_loop_stats_get(loop, &stats) == 0)
        printf("%llu turns, %llu posts\n",
               (unsigned long long)stats.turns,
               (unsigned long long)stats.posts_run);
}

/* ---- all of them ---- */

static void in_a_callback(void *arg)
{
    static struct message tick, microtask;
    vigil_loop *loop = arg;
    assert(tick_from_a_callback(loop) == 0);
    assert(microtask_from_a_callback(loop) == 0);
    assert(tick_without_memory(loop, &tick) == 0);
    assert(microtask_without_memory(loop, &microtask) == 0);
    assert(after_the_poll(loop) == 0);
    struct message doubtful = {0};
    assert(immediate_without_memory(loop, &doubtful) == 0);
    assert(change_our_mind(loop, &doubtful));
    assert(free_later(loop, malloc(8)) == 0);
    assert(print_on_the_loop(loop, "on the loop") == 0);
    assert(age_of(loop, 0) > 0 && after_long_work(loop) > 0);
    print_counters(loop);
}

int main(void)
{
    struct message one, two, three;
    struct session session;
    vigil_timer timers[2];
    vigil_watch watch;
    vigil_child child;
    int ends[2], count = 0, queued = 2;
    vigil_loop *loop = make_a_loop();
    make_a_post(&one);
    post_once(loop, &two);
    assert(post_first(loop, &three) == 0);
    watch_the_clock(loop);
    raise(SIGALRM);
    assert(print_later(loop) == 0);
    assert(print_on_the_loop(loop, "from outside") == 0);
    assert(wait_for_a_result(loop) == 0);
    assert(begin_session(loop, &session) == 0);
    assert(leave_session(loop, &session) == 0);
    assert(begin_session(loop, &session) == 0);
    vigil_loop_call(loop, in_a_callback, NULL, loop);
    vigil_loop_call(loop, dispatch, NULL, loop);
    assert(remind(loop) == 0 && repeat(loop, &count) == 0);
    cancel_a_timer(loop);
    for (int i = 0; i < 2; i++)
        assert(vigil_timer_start(loop, 1000000000, later, "never",
                                 &timers[i]) == 0);
    on_input(loop, timers[0]);
    assert(at_the_next_second(loop, timers[1]) == 0);
    only_while_busy(loop, timers[0], false);
    only_while_busy(loop, timers[0], true);
    assert(time_left(loop, timers[0]) > 0);
    count_timers(loop);
    why_does_it_not_end(loop);
    cancel_all(loop, timers, 2);
    assert(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    assert(watch_a_pipe(loop, ends[0], &watch) == 0);
    vigil_watch other;
    assert(watch_a_pipe(loop, ends[1], &other) == 0);
    assert(wait_until_writable(loop, other) == 0);
    hang_up(loop, other, ends[1]);
    assert(reload_on_sighup(loop) == 0);
    kill(getpid(), SIGHUP);
    assert(start_a_child(loop) == 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert(vigil_child_add(loop, pid, on_exit_of_child, NULL, &child) ==
           0);
    leave_child_alone(loop, child, pid);
    live_in_another_loop(loop);
    assert(host_a_library(loop, &queued) == 0);
    assert(sleep_in_the_poller(loop) == 0);
    run_to_the_end(loop);
    assert(count == 3 && session.ended && has_ended(loop));
    wait_for_the_end(loop);
    give_the_loop_back(loop);
    close(ends[0]);

    loop = make_a_loop();
    run_twice(loop);
    vigil_loop_destroy(loop);
    loop = make_a_loop();
    fork_with_a_loop(loop);
    assert(vigil_signal_add(loop, SIGTERM, on_sigterm, NULL, NULL) ==
           0);
    vigil_loop_ref(loop);
    kill(getpid(), SIGTERM);
    run_to_the_end(loop);
    end_now(loop);
    return 0;
}
