// A plugin for qemu-aarch64 that prints the number of instructions a program executed:
//
//	cc -shared -fPIC -o count.so count.c
//	qemu-aarch64 -plugin ./count.so program
//
// The declarations are those of qemu's plugin interface, version 1.
#include <stdint.h>
#include <stdio.h>

typedef uint64_t plugin_id;
struct block;
int qemu_plugin_version __attribute__((visibility("default"))) = 1;
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct block *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct block *, void (*)(unsigned, void *), int, void *);
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);
uint64_t qemu_plugin_tb_n_insns(const struct block *);

static uint64_t total;

static void executed(unsigned cpu, void *n) { __atomic_fetch_add(&total, (uint64_t)n, __ATOMIC_RELAXED); }

static void translated(plugin_id id, struct block *b) { qemu_plugin_register_vcpu_tb_exec_cb(b, executed, 0, (void *)qemu_plugin_tb_n_insns(b)); }

static void ended(plugin_id id, void *unused) { fprintf(stderr, "%lu instructions\n", (unsigned long)total); }

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, 0);
	return 0;
}
