// Functions prepare what a system call reads, argv[1] rounds. None of their stores is dead, but for `behind` and `behind2`, 8 bytes each, which lie
// behind a path, those called `past_…`, 8 bytes each, which lie behind what a call returns to have reached, and `reallydead`, 4.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <errno.h>
#include <dirent.h>
#include <sched.h>
#include <sys/uio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/stat.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/signalfd.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#define APART __attribute__((noinline,noclone))
#define V volatile
static char *m; static char *at; static char *take(long n) { char *p = at; at += (n + 255) & ~255L; return p; }
APART void w_write(V char *p, long i) { *(V uint32_t *)p = i + 1; }
APART void w_iovdata(V char *p, long i) { *(V uint32_t *)p = i + 2; }
APART void w_iov(V struct iovec *v, char *p, long i) { v->iov_base = p; v->iov_len = 4 + (i & 1); }
APART void w_msg(V struct msghdr *h, V struct iovec *v, long i) { h->msg_iov = (void *)v; h->msg_iovlen = 1; h->msg_flags = 0; h->msg_name = 0; h->msg_namelen = 0; h->msg_control = 0; h->msg_controllen = 0; }
APART void w_msgiov(V struct iovec *v, char *p, long i) { v->iov_base = p; v->iov_len = 4; }
APART void w_msgdata(V char *p, long i) { *(V uint32_t *)p = i + 3; }
APART void w_send(V char *p, long i) { *(V uint32_t *)p = i + 4; }
APART void w_pwrite(V char *p, long i) { *(V uint32_t *)p = i + 5; }
APART void w_pwritev(V char *p, long i) { *(V uint32_t *)p = i + 6; }
APART void w_poll(V struct pollfd *p, int fd, long i) { p->fd = fd; p->events = POLLIN; p->revents = 0; }
APART void w_ppoll(V struct pollfd *p, int fd, long i) { p->fd = fd; p->events = POLLIN; p->revents = 0; }
APART void w_ts(V struct timespec *t, long i) { t->tv_sec = 0; t->tv_nsec = 1 + (i & 3); }
APART void w_select(V fd_set *s, int fd) { ((V long *)s)[0] = 1L << fd; }
APART void w_tv(V struct timeval *t, long i) { t->tv_sec = 0; t->tv_usec = 1 + (i & 1); }
APART void w_epctl(V struct epoll_event *e, long i) { e->events = EPOLLIN; e->data.u64 = i; }
APART void w_addr(V struct sockaddr_in *a, long i) { a->sin_family = AF_INET; a->sin_port = 0; a->sin_addr.s_addr = 0x0100007f; }
APART void w_opt(V int *o, long i) { *o = 1 + (i & 1); }
APART void w_optlen(V int *o, long i) { *o = 4; }
APART void w_timer(V struct itimerspec *t, long i) { t->it_interval.tv_sec = 0; t->it_interval.tv_nsec = 0; t->it_value.tv_sec = 100; t->it_value.tv_nsec = i; }
APART void w_mask(V uint64_t *s, long i) { *s = 1UL << (i & 7); }
APART void w_name(V char *p, long i) { *(V uint32_t *)p = 0x00414141 + (i & 7); }
APART void w_path(V char *p, long i) { *(V uint32_t *)p = 0x0041412f + ((i & 7) << 8); }
APART void behind(V char *p, long i) { *(V uint64_t *)(p + 64) = i + 1; }
APART void behind2(V char *p, long i) { *(V uint64_t *)(p + 2048) = i + 1; }
APART void w_unlink(V char *p, long i) { *(V uint32_t *)p = 0x0042412f + ((i & 7) << 8); }
APART void w_xattr(V char *p, long i) { *(V uint32_t *)p = 0x00424142; }
APART void w_off(V long *o, long i) { *o = i & 1; }
APART void w_aff(V uint64_t *o, long i) { *o = 3; }
APART void w_rlim(V struct rlimit *r, long i) { r->rlim_cur = 900 + (i & 1); r->rlim_max = 1000; }
APART void w_fl(V struct flock *f, long i) { f->l_type = F_WRLCK; f->l_whence = SEEK_SET; f->l_start = i; f->l_len = 1; f->l_pid = 0; }
APART void w_ioc(V int *x, long i) { *x = i & 1; }
APART void w_fut(V struct timespec *t, long i) { t->tv_sec = 0; t->tv_nsec = 10 + i % 3; }
APART void w_sem(V char *p, long i) { *(V uint64_t *)p = i + 1; }
APART void w_utimes(V struct timespec *t, long i) { t[0].tv_sec = i; t[0].tv_nsec = i; t[1].tv_sec = i; t[1].tv_nsec = i; }
APART void w_sock(V struct sockaddr_un *a, long i) { a->sun_family = AF_UNIX; a->sun_path[0] = 0; a->sun_path[1] = 'x'; a->sun_path[2] = i; }
APART void w_mmsg(V struct mmsghdr *h, V struct iovec *v, long i) { h->msg_hdr.msg_iov = (void *)v; h->msg_hdr.msg_iovlen = 1; h->msg_len = 0; }
APART void w_mmsgdata(V char *p, long i) { *(V uint32_t *)p = i + 33; }
APART void w_read(V char *p, long i) { *(V uint64_t *)p = i + 7; }
APART void past_read(V char *p, long i) { *(V uint64_t *)(p + 8) = i + 8; }
APART void past_readv(V char *p, long i) { *(V uint64_t *)(p + 32) = i + 9; }
APART void past_recvmsg(V char *p, long i) { *(V uint64_t *)(p + 16) = i + 10; }
APART void past_failed(V char *p, long i) { *(V uint64_t *)p = i + 11; }
APART void past_link(V char *p, long i) { *(V uint64_t *)(p + 64) = i + 12; }
APART void reallydead(V uint32_t *p, long i) { *p = i + 3; }
int main(int c, char **a) {
  long n = atol(a[1]);
  m = aligned_alloc(4096, 1 << 20);
  memset(m, 1, 1 << 20);
  long s = 0; for (long i = 0; i < (1 << 20); i++) s += ((V char *)m)[i];
  at = m;
  char *bw = take(64), *bi = take(64), *bm = take(64), *bs = take(64), *bp = take(64), *bpv = take(64);
  struct iovec *iov = (void *)take(64), *miov = (void *)take(64), *pviov = (void *)take(64), *mmiov = (void *)take(64);
  struct msghdr *mh = (void *)take(200); struct mmsghdr *mmh = (void *)take(200); char *mmd = take(64);
  memset(mh, 0, 200); memset(mmh, 0, 200);
  struct pollfd *pf = (void *)take(64), *ppf = (void *)take(64);
  struct timespec *ts = (void *)take(64), *fts = (void *)take(64), *uts = (void *)take(64), *nts = (void *)take(64);
  fd_set *fs = (void *)take(sizeof *fs); memset(fs, 0, sizeof *fs);
  struct timeval *tv = (void *)take(64);
  struct epoll_event *ee = (void *)take(64);
  struct sockaddr_in *sa = (void *)take(64); memset(sa, 0, 64);
  int *opt = (void *)take(64), *optlen = (void *)take(64), *got = (void *)take(64);
  struct itimerspec *its = (void *)take(64); uint64_t *mask = (void *)take(256); memset(mask, 0, 128);
  char *name = take(64), *pathbuf = take(8192), *unl = take(64), *xat = take(64); long *off = (void *)take(64);
  uint64_t *aff = (void *)take(256); memset(aff, 0, 256);
  struct rlimit *rl = (void *)take(64); struct flock *fl = (void *)take(64); int *ioc = (void *)take(64);
  char *sem = take(64); uint32_t *rd = (void *)take(64); 
  struct sockaddr_un *su = (void *)take(256); memset(su, 0, 200);
  int sp[2]; socketpair(AF_UNIX, SOCK_DGRAM, 0, sp); int pp[2]; pipe(pp);
  int f = open("/tmp", O_TMPFILE | O_RDWR, 0600); int nul = open("/dev/null", O_WRONLY);
  int ep = epoll_create1(0); int tf = timerfd_create(CLOCK_MONOTONIC, 0); int ef = syscall(SYS_eventfd2, 0, O_NONBLOCK);
  char *rb = take(64), *rv = take(64), *rm = take(64), *rf = take(64), *ln = take(4096);
  struct iovec two[2] = {{rv, 16}, {rv + 32, 16}}, one[1] = {{rm, 64}};
  struct msghdr rmh = {.msg_iov = one, .msg_iovlen = 1};
  char junk[64]; uint32_t *fw = (void *)take(64); *fw = 0;
  for (long i = 0; i < n; i++) {
    w_write(bw, i); write(nul, bw, 4);
    w_iovdata(bi, i); w_iov(iov, bi, i); writev(nul, iov, 1);
    w_msgdata(bm, i); w_msgiov(miov, bm, i); w_msg(mh, miov, i); if (sendmsg(sp[0], mh, 0) < 0) return 3; recv(sp[1], junk, 64, 0);
    w_send(bs, i); send(sp[0], bs, 4, 0); recv(sp[1], junk, 64, 0);
    w_pwrite(bp, i); pwrite(f, bp, 4, 0);
    w_pwritev(bpv, i); w_iov(pviov, bpv, i); pwritev(f, pviov, 1, 0);
    w_poll(pf, pp[0], i); poll(pf, 1, 0);
    w_ppoll(ppf, pp[0], i); w_ts(ts, i); ppoll(ppf, 1, ts, 0);
    w_select(fs, pp[0]); w_tv(tv, i); select(pp[0] + 1, fs, 0, 0, tv);
    w_epctl(ee, i); epoll_ctl(ep, EPOLL_CTL_ADD, pp[0], ee); epoll_ctl(ep, EPOLL_CTL_DEL, pp[0], 0);
    int sk = socket(AF_INET, SOCK_STREAM, 0); w_addr(sa, i); bind(sk, (void *)sa, sizeof *sa);
    w_opt(opt, i); setsockopt(sk, SOL_SOCKET, SO_REUSEADDR, opt, 4);
    w_optlen(optlen, i); getsockopt(sk, SOL_SOCKET, SO_ERROR, got, (void *)optlen);
    close(sk);
    int su1 = socket(AF_UNIX, SOCK_STREAM, 0); w_sock(su, i); bind(su1, (void *)su, 5); close(su1);
    w_timer(its, i); timerfd_settime(tf, 0, its, 0);
    w_mask(mask, i); sigprocmask(SIG_BLOCK, (void *)mask, 0);
    w_name(name, i); prctl(PR_SET_NAME, name);
    w_path(pathbuf, i); behind(pathbuf, i); behind2(pathbuf, i); struct stat st; stat(pathbuf, &st);
    w_unlink(unl, i); unlinkat(AT_FDCWD, unl, 0);
    w_xattr(xat, i); getxattr("/tmp", xat, junk, 10);
    w_off(off, i); sendfile(nul, f, off, 1);
    w_aff(aff, i); sched_setaffinity(0, 8, (void *)aff);
    w_rlim(rl, i); setrlimit(RLIMIT_NOFILE, rl);
    w_fl(fl, i); fcntl(f, F_SETLK, fl);
    w_ioc(ioc, i); ioctl(pp[0], FIONBIO, ioc);
    w_fut(fts, i); syscall(SYS_futex, fw, 0, 0, fts, 0, 0);
    w_sem(sem, i); write(ef, sem, 8);
    w_utimes(uts, i); futimens(f, uts);
    w_mmsgdata(mmd, i); w_msgiov(mmiov, mmd, i); w_mmsg(mmh, mmiov, i); syscall(SYS_sendmmsg, sp[0], mmh, 1, 0); recv(sp[1], junk, 64, 0);
    pwrite(f, "12345678", 8, 0);
    w_read(rb, i); past_read(rb, i); if (pread(f, rb, 64, 0) != 8) return 4;
    lseek(f, 0, SEEK_SET); past_readv(rv, i); if (readv(f, two, 2) != 8) return 5;
    send(sp[0], "12345678", 8, 0); past_recvmsg(rm, i); if (recvmsg(sp[1], &rmh, 0) != 8) return 6;
    past_failed(rf, i); if (read(-1, rf, 64) >= 0) return 7;
    past_link(ln, i); if (readlink("/proc/self", ln, 4096) > 64) return 8;
    reallydead(rd, i);
  }
  printf("%ld\n", s);
  return 0;
}
