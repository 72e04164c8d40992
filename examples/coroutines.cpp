/* SPDX-License-Identifier: MIT */
/*
 * C++20 coroutines: a small word counter. The loop reads lines from a pipe as they come; each line is counted on the pool;
 * the results come back to the loop, where the table needs no lock. Written from top to bottom, with no callback in sight.
 */
#include <cctype>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <unistd.h>

#include <vigil/vigil.hpp>

using namespace std::chrono_literals;
using table = std::map<std::string, int>;

/* Blocking or heavy work belongs on a worker. */
static table count_words(const std::string &line)
{
    table words;
    std::string word;
    for (const char letter : line + ' ') {
        if (std::isalpha(static_cast<unsigned char>(letter)))
            word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
        else if (!word.empty())
            words[std::exchange(word, {})]++;
    }
    return words;
}

static vigil::task<> count_line(vigil::loop_ref loop, vigil::pool_ref pool, std::string line, table &total)
{
    auto work = [&line] { return count_words(line); };
    const table words = co_await vigil::offload(loop, pool, work, vigil::high);
    for (const auto &[word, count] : words) /* on the loop again */
        total[word] += count;
}

/* Lines, as they arrive. */
static vigil::task<table> count_all(vigil::loop_ref loop, vigil::pool_ref pool, int fd)
{
    table total;
    co_await vigil::in_scope([&](vigil::async_scope &scope) -> vigil::task<> {
        std::string text;
        for (;;) {
            co_await vigil::ready(loop, fd, VIGIL_FD_READ);
            char bytes[64];
            const ssize_t got = ::read(fd, bytes, sizeof bytes);
            if (got <= 0)
                break;
            text.append(bytes, static_cast<std::size_t>(got));
            for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
                scope.start(count_line(loop, pool, text.substr(0, end), total)); /* the next line need not wait */
        }
        scope.start(count_line(loop, pool, text, total));
    });
    co_await loop; /* the last line may have ended on the loop already; here we can be sure */
    co_return total;
}

static vigil::task<> speak(vigil::loop_ref loop, int fd)
{
    for (const char *line : {"the tide comes in\n", "the tide goes out\n", "and the moon ", "looks on\n"}) {
        (void)!::write(fd, line, std::char_traits<char>::length(line));
        co_await vigil::sleep_for(loop, 2ms);
    }
    ::close(fd);
}

int main()
{
    int ends[2];
    if (::pipe(ends) != 0)
        return 1;
    try {
        vigil::pool pool;
        vigil::loop loop;
        auto [words, nothing] = loop.run(vigil::when_all(count_all(loop, pool, ends[0]), speak(loop, ends[1])));
        (void)nothing;
        for (const auto &[word, count] : words)
            std::cout << word << ' ' << count << '\n';
        return words.size() == 10 && words["the"] == 3 && words["tide"] == 2 ? 0 : 1;
    } catch (const std::exception &it) {
        std::cerr << "coroutines: " << it.what() << '\n';
        return 1;
    }
}
