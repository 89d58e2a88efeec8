#include "fiber.h"

#include <cstring>

#include <link.h>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace model {

// The thread-local variables of this program: where they lie for the one thread that there is,
// and what they are at first.
struct Locals {
    char *place = nullptr;
    const char *image = nullptr;
    size_t initialised = 0, bytes = 0;
};

static int find_locals(dl_phdr_info *info, size_t, void *raw)
{
    auto *locals = static_cast<Locals *>(raw);

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto &header = info->dlpi_phdr[i];
        if (header.p_type != PT_TLS)
            continue;
        locals->place = static_cast<char *>(info->dlpi_tls_data);
        locals->image = reinterpret_cast<const char *>(info->dlpi_addr + header.p_vaddr);
        locals->initialised = header.p_filesz;
        locals->bytes = header.p_memsz;
    }
    return 1; // the program itself comes first
}

static const Locals &locals()
{
    static const Locals found = [] {
        Locals here;
        dl_iterate_phdr(find_locals, &here);
        return here;
    }();
    return found;
}

static void set_out(std::vector<char> &own)
{
    own.assign(locals().bytes, 0);
    if (locals().initialised > 0)
        memcpy(own.data(), locals().image, locals().initialised);
}

static void put_in(const std::vector<char> &own)
{
    if (!own.empty())
        memcpy(locals().place, own.data(), own.size());
}

void forget_locals()
{
    std::vector<char> first;

    set_out(first);
    put_in(first);
}

static void take_out(std::vector<char> &own)
{
    if (!own.empty())
        memcpy(own.data(), locals().place, own.size());
}

#if defined(__x86_64__)

// Saves the callee-saved registers on the running stack, leaves its pointer in *from, and
// continues on `to`. The floating-point control words never change here.
extern "C" void model_switch(void **from, void *to);
asm(R"(
        .text
        .globl model_switch
        .type model_switch, @function
model_switch:
        pushq %rbp
        pushq %rbx
        pushq %r12
        pushq %r13
        pushq %r14
        pushq %r15
        movq %rsp, (%rdi)
        movq %rsi, %rsp
        popq %r15
        popq %r14
        popq %r13
        popq %r12
        popq %rbx
        popq %rbp
        ret
        .size model_switch, .-model_switch
        .globl model_start
        .type model_start, @function
model_start:
        movq %r12, %rdi
        callq *%r13
        ud2
        .size model_start, .-model_start
)");
extern "C" void model_start();

void Fiber::prepare(char *stack, size_t bytes)
{
    stack_ = stack;
    bytes_ = bytes;
}

void Fiber::restart(void (*entry)(void *), void *argument)
{
    void **top = reinterpret_cast<void **>(stack_ + bytes_ - 64);

    *--top = nullptr; // two words keep the stack 16-aligned at model_start's call
    *--top = nullptr;
    *--top = reinterpret_cast<void *>(model_start);
    *--top = nullptr;                           // rbp
    *--top = nullptr;                           // rbx
    *--top = argument;                          // r12
    *--top = reinterpret_cast<void *>(entry);   // r13
    *--top = nullptr;                           // r14
    *--top = nullptr;                           // r15
    inside_ = top;
    set_out(locals_);
}

void Fiber::resume()
{
    put_in(locals_);
    model_switch(&outside_, inside_);
    take_out(locals_);
}
void Fiber::yield() { model_switch(&inside_, outside_); }

#else

struct Contexts {
    ucontext_t inside, outside;
};

void Fiber::prepare(char *stack, size_t bytes)
{
    stack_ = stack;
    bytes_ = bytes;
    inside_ = new Contexts;
}

static void start(unsigned entry_low, unsigned entry_high, unsigned low, unsigned high)
{
    auto whole = [](unsigned a, unsigned b) { return (uintptr_t)a | (uintptr_t)b << 32; };

    reinterpret_cast<void (*)(void *)>(whole(entry_low, entry_high))(reinterpret_cast<void *>(whole(low, high)));
}

void Fiber::restart(void (*entry)(void *), void *argument)
{
    auto *contexts = static_cast<Contexts *>(inside_);
    auto e = reinterpret_cast<uintptr_t>(entry), a = reinterpret_cast<uintptr_t>(argument);

    getcontext(&contexts->inside);
    contexts->inside.uc_stack.ss_sp = stack_;
    contexts->inside.uc_stack.ss_size = bytes_;
    contexts->inside.uc_link = nullptr;
    makecontext(&contexts->inside, reinterpret_cast<void (*)()>(start), 4, (unsigned)e,
                (unsigned)(e >> 32), (unsigned)a, (unsigned)(a >> 32));
    set_out(locals_);
}

void Fiber::resume()
{
    auto *contexts = static_cast<Contexts *>(inside_);
    put_in(locals_);
    swapcontext(&contexts->outside, &contexts->inside);
    take_out(locals_);
}

void Fiber::yield()
{
    auto *contexts = static_cast<Contexts *>(inside_);
    swapcontext(&contexts->inside, &contexts->outside);
}

#endif

} // namespace model
