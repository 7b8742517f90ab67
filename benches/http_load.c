/* Load for `python -m benches serve`: a client that sends requests at a constant rate, and a server that does almost
   nothing for each of them.

   http_load client PORT CONNECTIONS RATE SECONDS < REQUEST: send the request RATE times per second, in turn over the
   connections, each of which has at most one request without an answer. Print the number of answers, the number of
   requests that were left out because their connection waited for an answer, and the CPU seconds of this program. An
   answer must have status 200 and be complete.
   http_load server < ANSWER: print a free port, and send the answer for every piece of data that a client sends. */
#define _GNU_SOURCE /* strcasestr */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 256, LARGEST = 1 << 20 };

static char text[LARGEST], answer[LARGEST + 1];
static size_t length;
static int sockets[MOST];
static size_t missing[MOST]; /* bytes of the answer that have not arrived; if `head` is set, its length is unknown */
static int head[MOST];

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static int64_t ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int opened(struct sockaddr_in *address) {
  int made = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  if (made < 0 || setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) fail("socket");
  *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  return made;
}

static int arrived(int at) { /* read what has arrived; return whether this completes an answer */
  ssize_t count = recv(sockets[at], answer, LARGEST, MSG_DONTWAIT);
  if (count < 0) return 0;
  if (count == 0) {
    fprintf(stderr, "the server has closed a connection\n");
    exit(1);
  }
  if (head[at]) { /* the head arrives in one piece, because it is small and sent at once */
    answer[count] = 0;
    char *end = strstr(answer, "\r\n\r\n"), *size = strcasestr(answer, "\r\ncontent-length: ");
    if (strncmp(answer, "HTTP/1.1 200 ", 13) || !end || !size || size > end) {
      fprintf(stderr, "unexpected answer: %.200s\n", answer);
      exit(1);
    }
    missing[at] = end + 4 - answer + strtoul(size + 18, NULL, 10);
    head[at] = 0;
  }
  if ((size_t)count > missing[at]) {
    fprintf(stderr, "the answer is too long\n");
    exit(1);
  }
  missing[at] -= count;
  return !missing[at];
}

static void client(int port, int connections, double rate, double seconds) {
  struct sockaddr_in address;
  prctl(PR_SET_TIMERSLACK, 1000L); /* ns; the default is 50 us */
  for (int at = 0; at < connections; at++) {
    sockets[at] = opened(&address);
    address.sin_port = htons(port);
    if (connect(sockets[at], (struct sockaddr *)&address, sizeof address)) fail("connect");
  }
  int64_t begun = ns(CLOCK_MONOTONIC), used = ns(CLOCK_PROCESS_CPUTIME_ID);
  long answers = 0, left_out = 0, all = (long)(rate * seconds);
  for (long count = 0; count < all; count++) {
    int64_t due = begun + (int64_t)(count * 1e9 / rate);
    struct timespec until = {due / 1000000000, due % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)) {}
    int at = count % connections;
    if (head[at] || missing[at]) answers += arrived(at);
    if (head[at] || missing[at]) {
      left_out++;
      continue;
    }
    if (send(sockets[at], text, length, MSG_NOSIGNAL) != (ssize_t)length) fail("send");
    head[at] = 1;
  }
  printf("%ld %ld %.6f\n", answers, left_out, (ns(CLOCK_PROCESS_CPUTIME_ID) - used) / 1e9);
}

static void server(void) {
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  struct pollfd polled[MOST] = {{.fd = opened(&address), .events = POLLIN}};
  int count = 1;
  if (bind(polled[0].fd, (struct sockaddr *)&address, size) || listen(polled[0].fd, MOST)) fail("listen");
  if (getsockname(polled[0].fd, (struct sockaddr *)&address, &size)) fail("getsockname");
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    if (poll(polled, count, -1) < 0) fail("poll");
    for (int at = count - 1; at > 0; at--) {
      if (!polled[at].revents) continue;
      if (recv(polled[at].fd, answer, LARGEST, 0) > 0) {
        if (send(polled[at].fd, text, length, MSG_NOSIGNAL) >= 0) continue;
      }
      close(polled[at].fd);
      polled[at] = polled[--count];
    }
    if (polled[0].revents && count < MOST) {
      polled[count++] = (struct pollfd){.fd = accept(polled[0].fd, NULL, NULL), .events = POLLIN};
    }
  }
}

int main(int argc, char **argv) {
  length = fread(text, 1, LARGEST, stdin);
  if (argc == 6 && atoi(argv[3]) <= MOST) client(atoi(argv[2]), atoi(argv[3]), atof(argv[4]), atof(argv[5]));
  else if (argc == 2) server();
  else return 2;
  return 0;
}
