/* SPDX-License-Identifier: MIT */
/*
 * check.hpp - what the C++ tests share: a way to say "this must hold" on any thread, and tests that are sentences.
 *
 *     TEST(a_sentence_about_behaviour) { must(...); }
 *     int main() { return run_tests(); }
 */
#ifndef VG_TEST_CHECK_HPP
#define VG_TEST_CHECK_HPP

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <vigil/vigil.hpp>

struct test_case {
    const char *name;
    void (*body)();
};

inline std::vector<test_case> &all_tests()
{
    static std::vector<test_case> tests;
    return tests;
}

struct register_test {
    register_test(const char *name, void (*body)())
    {
        all_tests().push_back({name, body});
    }
};

#define TEST(name)                                           \
    static void name();                                      \
    static const register_test register_##name(#name, name); \
    static void name()

inline void fail(const char *what, const char *file, int line)
{
    std::fprintf(stderr, "%s:%d: must hold: %s\n", file, line, what);
    std::abort();
}

#define must(condition) ((condition) ? void() : fail(#condition, __FILE__, __LINE__))

/* The call throws vigil::error with this status. */
template <class F> void must_throw(int status, F &&call, const char *file, int line)
{
    try {
        call();
    } catch (const vigil::error &it) {
        if (it.status() == status)
            return;
        std::fprintf(stderr, "%s:%d: threw %d (%s) instead of %d\n", file, line, it.status(), it.what(), status);
        std::abort();
    }
    fail("it throws a vigil::error", file, line);
}
#define must_refuse(status, call) must_throw(status, call, __FILE__, __LINE__)

/* `full` in a release run, less where VIGIL_TEST_SCALE (in percent) says so; at least `least`. */
inline int scaled(int full, int least)
{
    const char *text = std::getenv("VIGIL_TEST_SCALE");
    const long percent = text == nullptr ? 100 : std::strtol(text, nullptr, 10);
    const long size = full * percent / 100;
    return size < least ? least : static_cast<int>(size);
}

/* Happens once. */
class event
{
  public:
    void set() noexcept
    {
        up_.store(true, std::memory_order_release);
        up_.notify_all();
    }
    void wait() const noexcept
    {
        up_.wait(false, std::memory_order_acquire);
    }
    bool is_set() const noexcept
    {
        return up_.load(std::memory_order_acquire);
    }

  private:
    std::atomic<bool> up_{false};
};

/* How many exist: what must be none at the end was destroyed exactly once. */
struct counted {
    static inline std::atomic<int> alive{0};
    counted() noexcept
    {
        alive.fetch_add(1, std::memory_order_relaxed);
    }
    counted(const counted &) noexcept : counted()
    {
    }
    counted(counted &&) noexcept : counted()
    {
    }
    counted &operator=(const counted &) = default;
    counted &operator=(counted &&) = default;
    ~counted()
    {
        alive.fetch_sub(1, std::memory_order_relaxed);
    }
};

inline int run_tests()
{
    for (const test_case &it : all_tests()) {
        std::printf("[ run ] %s\n", it.name);
        std::fflush(stdout);
        it.body();
        must(counted::alive.load() == 0);
    }
    std::printf("[ ok  ] %zu tests\n", all_tests().size());
    return 0;
}

#endif
