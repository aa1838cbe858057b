// A machine that runs the grids of CUDA kernels on one processor, and sees every access to memory.
//
// Threads are fibers.  They are switched at barriers, at shuffles and, by chance, at any access, so that a seed is a
// schedule.  A launch ends with the first fault: an access outside all arrays, to what nobody has written, or in a race;
// a barrier or a shuffle that not all of its threads come to.
//
// Two accesses race if one writes, not both are atomic, and no barrier orders them.  What orders them is __syncthreads
// for a block and __syncwarp for a warp.  Shuffles let threads meet, but CUDA promises no order of memory for them.
#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

typedef uint64_t Site;  // of an instruction

enum { WARP = 32, SECTOR = 32, CACHED = 512, GUARD = 256, STACK = 1 << 16 };

// ---- what Python gives and gets -------------------------------------------------------------------------------------

extern "C" struct Argument {
    void* host;        // a number, or an array that is copied in and out
    int64_t bytes;     // of an array; -1 for a number
    int32_t granule;   // bytes of one of its elements
    int32_t written;   // whether the kernel may write to it
    int32_t blank;     // whether it holds nothing yet
};

extern "C" struct Plan {
    void (*call)(void**);
    void (*shared_memory)(char**, char**);
    const Argument* arguments;
    int32_t count, blocks, threads, resident;
    uint64_t seed;    // 0: thread after thread
    int32_t preempt;  // one access in so many lets another thread run; 0: none
    int32_t counting;
};

extern "C" struct Counts {
    int64_t accesses, requests, sectors, fetched, stored, distinct, compulsory, longest, switches;
};

// ---- fibers ---------------------------------------------------------------------------------------------------------

#if defined(__x86_64__) && !defined(SIMT_PORTABLE)
struct Context { void* stack = nullptr; };
extern "C" void simt_switch(void** from, void* to);
asm(".text\n.globl simt_switch\nsimt_switch:\n push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
    " mov %rsp, (%rdi)\n mov %rsi, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");
static void switch_to(Context& from, Context& to) { simt_switch(&from.stack, to.stack); }
static void begin(Context& context, char* stack, void (*run)()) {
    void** top = (void**)(stack + STACK - 64);
    *--top = nullptr;
    *--top = (void*)run;
    for (int saved = 0; saved < 6; saved++) *--top = nullptr;
    context.stack = top;
}
#else
#include <ucontext.h>
struct Context { ucontext_t saved; };
static void switch_to(Context& from, Context& to) { swapcontext(&from.saved, &to.saved); }
static void begin(Context& context, char* stack, void (*run)()) {
    getcontext(&context.saved);
    context.saved.uc_stack.ss_sp = stack;
    context.saved.uc_stack.ss_size = STACK;
    makecontext(&context.saved, run, 0);
}
#endif

// ---- threads, blocks, memory ----------------------------------------------------------------------------------------

// Ways of meeting: those of shuffles, as in simt.h, and without any.
enum { NONE = -1, XOR, DOWN, UP, FROM, BALLOT };

enum State { READY, AT_WARP, AT_BLOCK, DONE };

struct Access { Site site; uintptr_t address; int bytes; bool write; };

// When a thread did something: since the tick it has met others of its warp, since the barrier all of its block.
struct Mark { int64_t thread; unsigned tick, barrier; bool atomic; };

struct Cell { Mark writer{-1, 0, 0, false}; std::vector<Mark> readers; bool known = true; };

struct Region {
    char *low, *host;  // in the arena, and where it was copied from
    int64_t bytes;
    int granule, argument;
    bool written;
    std::vector<Cell> cells;  // who wrote and read each element of what may be written
    std::vector<char> used;   // whether it was read, or written; while counting
};

struct Block;

struct Fiber {
    Context context;
    char* stack = nullptr;
    Block* block = nullptr;
    unsigned thread = 0, mask = 0, operand = 0, clock[WARP] = {};
    int way = 0, width = WARP;
    State state = READY;
    unsigned long long bits = 0, result = 0;
    std::vector<Access> trace;
    unsigned lane() const { return thread % WARP; }
    unsigned tick() const { return clock[thread % WARP]; }
};

struct Block {
    unsigned number = 0, barrier = 0, alive = 0, waiting = 0;
    std::vector<Fiber> fibers;
    std::string shared;  // the shared memory, while that of another block is in its place
    Region shared_cells{};
    int64_t begin = 0, end = 0;  // of what was used of it
};

static const Plan* plan;
static Counts counts;
static std::string fault;
static std::vector<Region> regions;
static std::vector<int16_t> region_of;  // for every GUARD bytes of the arena
static std::vector<char> memory;
static char *arena, *shared_low, *shared_high;
static std::vector<void*> values;
static std::vector<Block> blocks;
static std::vector<Fiber*> ready;
static std::vector<char*> stacks;
static Context scheduler;
static Fiber* now;
static Block* in_place;  // the block whose shared memory is where kernels look for it
static uint64_t dice;
static std::vector<char> met;  // the sectors of the arena that were asked for

static unsigned draw(unsigned below) {
    dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
    return (unsigned)((dice >> 24) % below);
}

static std::string text(const char* format, ...) {
    char room[500];
    va_list given;
    va_start(given, format);
    vsnprintf(room, sizeof room, format, given);
    va_end(given);
    return room;
}

static void leave() { switch_to(now->context, scheduler); }

static void fail(std::string what) {
    if (now) what = text("thread %u of block %u: ", now->thread, now->block->number) + what;
    if (fault.empty()) fault = what;
    if (now) leave();  // for good
}

// ---- meetings -------------------------------------------------------------------------------------------------------

static Fiber* lane_of(Fiber* one, unsigned lane) {
    unsigned thread = one->thread / WARP * WARP + lane;
    return thread < one->block->fibers.size() ? &one->block->fibers[thread] : nullptr;
}

static void wake(Fiber* fiber) {
    fiber->state = READY;
    ready.push_back(fiber);
}

static void deliver(Fiber* fiber) {
    int lane = (int)fiber->lane(), base = lane / fiber->width * fiber->width, operand = (int)fiber->operand, source = lane;
    if (fiber->way == BALLOT) {
        fiber->result = 0;
        for (unsigned other = 0; other < WARP; other++)
            if (fiber->mask >> other & 1 && lane_of(fiber, other)->bits) fiber->result |= 1ull << other;
        return;
    }
    if (fiber->way == XOR) source = (lane ^ operand) < base + fiber->width ? lane ^ operand : lane;
    if (fiber->way == DOWN) source = lane + operand < base + fiber->width ? lane + operand : lane;
    if (fiber->way == UP) source = lane - operand >= base ? lane - operand : lane;
    if (fiber->way == FROM) source = base + (int)((unsigned)operand % (unsigned)fiber->width);
    if (!(fiber->mask >> source & 1))
        return fail(text("a shuffle reads lane %d, which is not in mask %08x", source, fiber->mask));
    fiber->result = lane_of(fiber, (unsigned)source)->bits;
}

// Waits until all lanes of the mask have come; gives what the shuffle does, or orders memory.
static unsigned long long meet(unsigned mask, unsigned long long bits, int way, unsigned operand, int width) {
    Fiber* me = now;
    if (!(mask >> me->lane() & 1)) fail(text("lane %u is not in its own mask %08x", me->lane(), mask));
    me->mask = mask, me->bits = bits, me->way = way, me->operand = operand, me->width = width, me->state = AT_WARP;
    bool all = true;
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(mask >> lane & 1)) continue;
        Fiber* other = lane_of(me, lane);
        if (!other) fail(text("lane %u of mask %08x does not exist", lane, mask));
        if (other->state == DONE) fail(text("waits for lane %u of mask %08x, which has left", lane, mask));
        if (other->state == AT_WARP && (other->mask != mask || other->way != way))
            fail(text("meets lane %u with mask %08x, which comes with mask %08x", lane, mask, other->mask));
        all = all && other->state == AT_WARP;
    }
    if (!all) {
        leave();
        return me->result;
    }
    unsigned joined[WARP] = {};
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(mask >> lane & 1)) continue;
        Fiber* other = lane_of(me, lane);
        if (way != NONE) deliver(other);
        for (unsigned seen = 0; seen < WARP; seen++) joined[seen] = std::max(joined[seen], other->clock[seen]);
    }
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(mask >> lane & 1)) continue;
        Fiber* other = lane_of(me, lane);
        if (way == NONE) {
            memcpy(other->clock, joined, sizeof joined);
            other->clock[lane]++;
        }
        if (other != me) wake(other);
    }
    me->state = READY;
    return me->result;
}

extern "C" unsigned long long simt_exchange(unsigned mask, unsigned long long bits, int way, int operand, int width) {
    return meet(mask, bits, way, (unsigned)operand, width);
}

extern "C" void simt_meet_warp(unsigned mask) { meet(mask, 0, NONE, 0, WARP); }

extern "C" void simt_meet_block() {
    Block* block = now->block;
    if (block->alive < block->fibers.size()) fail("comes to __syncthreads, which another thread has passed by");
    now->state = AT_BLOCK;
    if (++block->waiting < block->fibers.size()) return leave();
    block->waiting = 0;
    block->barrier++;
    for (Fiber& other : block->fibers) {
        if (&other != now) wake(&other);
        other.state = READY;
    }
}

static void finish() {
    Fiber* me = now;
    if (me->block->waiting) fail("leaves, while others wait at __syncthreads");
    for (unsigned lane = 0; lane < WARP; lane++) {
        Fiber* other = lane_of(me, lane);
        if (other && other->state == AT_WARP && other->mask >> me->lane() & 1)
            fail(text("leaves, while lane %u waits for it with mask %08x", lane, other->mask));
    }
    me->state = DONE;
    me->block->alive--;
}

static void run_fiber() {
    plan->call(values.data());
    finish();
    leave();
}

// ---- accesses -------------------------------------------------------------------------------------------------------

static int64_t number_of(const Fiber* fiber) { return (int64_t)fiber->block->number * plan->threads + fiber->thread; }

// Whether a barrier lies between what the mark stands for and what happens now.
static bool ordered(const Mark& mark) {
    if (mark.thread < 0 || mark.thread == number_of(now)) return true;
    if (mark.thread / plan->threads != now->block->number) return false;
    if (mark.barrier < now->block->barrier) return true;
    unsigned thread = (unsigned)(mark.thread % plan->threads);
    return thread / WARP == now->thread / WARP && mark.tick <= now->clock[thread % WARP];
}

static std::string named(const Region& region, int64_t place) {
    return region.argument < 0 ? text("byte %lld of shared memory", (long long)place)
                               : text("element %lld of argument %d", (long long)(place / region.granule), region.argument);
}

static void look(Region& region, int64_t place, bool write, bool atomic) {
    Cell& cell = region.cells[(size_t)(place / region.granule)];
    if (!write && !cell.known) fail("reads " + named(region, place) + ", which holds nothing yet");
    if (!ordered(cell.writer) && !(atomic && cell.writer.atomic))
        fail(text("a race: %s what thread %lld of the grid writes, ", write ? "writes" : "reads", (long long)cell.writer.thread) +
             named(region, place));
    Mark mark{number_of(now), now->tick(), now->block->barrier, atomic};
    if (write) {
        for (const Mark& reader : cell.readers)
            if (!ordered(reader))
                fail(text("a race: writes what thread %lld of the grid reads, ", (long long)reader.thread) + named(region, place));
        cell.readers.clear();
        cell.writer = mark;
        cell.known = true;
    } else {
        for (Mark& reader : cell.readers)
            if (reader.thread == mark.thread) {
                reader = mark;
                return;
            }
        cell.readers.push_back(mark);
    }
}

// Elements that are read, and those that are written, count once.
static void use(Region& region, int64_t place, bool write) {
    char& used = region.used[(size_t)(place / region.granule)];
    char way = write ? 2 : 1;
    if (!(used & way)) counts.compulsory += region.granule;
    used |= way;
}

static Region* region_at(char* address, int64_t& place) {
    if (address >= shared_low && address < shared_high) {
        place = address - shared_low;
        return &now->block->shared_cells;
    }
    if (address < arena || address >= arena + (int64_t)region_of.size() * GUARD) return nullptr;
    int16_t found = region_of[(size_t)(address - arena) / GUARD];
    if (found < 0) return nullptr;
    place = address - regions[(size_t)found].low;
    return &regions[(size_t)found];
}

static void touch(void* pointer, int bytes, bool write, bool atomic, Site site) {
    char* address = (char*)pointer;
    if (!now || (address >= now->stack && address < now->stack + STACK)) return;
    int64_t place = 0;
    Region* region = region_at(address, place);
    if (!region || place < 0 || place + bytes > region->bytes)
        return fail(text("%s %d bytes outside all arrays", write ? "writes" : "reads", bytes) +
                    (region ? ": " + named(*region, place) + text(" of %lld", (long long)(region->bytes / region->granule)) : ""));
    if ((uintptr_t)address % (unsigned)bytes) return fail("accesses what is not aligned, " + named(*region, place));
    counts.accesses++;
    if (region->argument < 0) {
        Block& block = *now->block;
        if (block.begin == block.end) block.begin = block.end = place;
        block.begin = std::min(block.begin, place), block.end = std::max(block.end, place + bytes);
    }
    if (plan->counting) {
        if (region->argument < 0) return;  // shared memory is near
        now->trace.push_back({site, (uintptr_t)address, bytes, write});
        for (int64_t step = 0; step < bytes; step += region->granule) use(*region, place + step, write);
        return;
    }
    if (write && !region->written) return fail("writes to what is only read, " + named(*region, place));
    if (region->written)
        for (int64_t step = 0; step < bytes; step += region->granule) look(*region, place + step, write, atomic);
    if (plan->preempt && draw((unsigned)plan->preempt) == 0) {
        ready.push_back(now);
        leave();
    }
}

#define SITE (Site) __builtin_return_address(0)
#define HOOKS(bytes) \
    extern "C" void __tsan_read##bytes(void* place) { touch(place, bytes, false, false, SITE); } \
    extern "C" void __tsan_write##bytes(void* place) { touch(place, bytes, true, false, SITE); } \
    extern "C" void __tsan_unaligned_read##bytes(void* place) { touch(place, bytes, false, false, SITE); } \
    extern "C" void __tsan_unaligned_write##bytes(void* place) { touch(place, bytes, true, false, SITE); } \
    extern "C" void __tsan_read_write##bytes(void* place) { \
        touch(place, bytes, false, false, SITE); \
        touch(place, bytes, true, false, SITE); \
    }
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_init() {}
extern "C" void __tsan_read_range(void*, long) { fail("reads a range of memory at once, which the machine does not follow"); }
extern "C" void __tsan_write_range(void*, long) { fail("writes a range of memory at once, which the machine does not follow"); }
extern "C" void simt_unknown(const char* what) { fail(std::string("an instruction that the machine does not know: ") + what); }
extern "C" void simt_atomic(void* place, int bytes) { touch(place, bytes, true, true, SITE); }

struct Place { unsigned x, y, z; };
extern "C" Place simt_thread() { return {now->thread, 0, 0}; }
extern "C" Place simt_block() { return {now->block->number, 0, 0}; }
extern "C" Place simt_threads() { return {(unsigned)plan->threads, 1, 1}; }
extern "C" Place simt_blocks() { return {(unsigned)plan->blocks, 1, 1}; }

// ---- traffic --------------------------------------------------------------------------------------------------------

// What the lanes of a warp do at one instruction for the same time: one request for the sectors that they touch.
struct Request { size_t order; unsigned warp; bool write; std::vector<uintptr_t> sectors; };

// The sectors that a block used last: of those that fall into a set, as many as it has ways.
struct Cache {
    enum { SETS = 64, WAYS = CACHED / SETS };
    uintptr_t sectors[SETS][WAYS] = {};
    bool holds(uintptr_t sector) {
        uintptr_t* set = sectors[sector % SETS];
        uintptr_t* found = std::find(set, set + WAYS, sector);
        bool held = found != set + WAYS;
        std::rotate(set, held ? found : set + WAYS - 1, held ? found + 1 : set + WAYS);
        set[0] = sector;
        return held;
    }
};

// The number of an instruction among those that were met; there are few.
static size_t number_of(Site site, std::vector<Site>& sites) {
    size_t number = (size_t)(std::find(sites.begin(), sites.end(), site) - sites.begin());
    if (number == sites.size()) sites.push_back(site);
    return number;
}

static void add_requests(Block& block, unsigned warp, std::vector<Request>& requests) {
    std::vector<Site> sites;
    std::vector<std::vector<size_t>> at;  // which request the first, second ... access of a site belongs to
    for (unsigned lane = 0; lane < WARP && warp * WARP + lane < block.fibers.size(); lane++) {
        std::vector<size_t> times(sites.size());
        Fiber& fiber = block.fibers[warp * WARP + lane];
        int64_t loads = 0;
        for (size_t order = 0; order < fiber.trace.size(); order++) {
            const Access& access = fiber.trace[order];
            size_t site = number_of(access.site, sites);
            if (site >= times.size()) times.resize(site + 1);
            if (site >= at.size()) at.resize(site + 1);
            size_t time = times[site]++;
            if (time == at[site].size()) {
                at[site].push_back(requests.size());
                requests.push_back({order, warp, access.write, {}});
            }
            std::vector<uintptr_t>& sectors = requests[at[site][time]].sectors;
            uintptr_t end = (access.address + (unsigned)access.bytes - 1) / SECTOR;
            for (uintptr_t sector = access.address / SECTOR; sector <= end; sector++)
                if (std::find(sectors.rbegin(), sectors.rend(), sector) == sectors.rend()) sectors.push_back(sector);
            loads += !access.write;
        }
        counts.longest = std::max(counts.longest, loads);
        fiber.trace.clear();
    }
}

static void count(Block& block) {
    std::vector<Request> requests;
    for (unsigned warp = 0; warp * WARP < block.fibers.size(); warp++) add_requests(block, warp, requests);
    std::stable_sort(requests.begin(), requests.end(), [](const Request& left, const Request& right) {
        return left.order != right.order ? left.order < right.order : left.warp < right.warp; });
    Cache cache;
    counts.requests += (int64_t)requests.size();
    for (const Request& request : requests) {
        counts.sectors += (int64_t)request.sectors.size();
        for (uintptr_t sector : request.sectors) {
            if (request.write) counts.stored++;
            else counts.fetched += !cache.holds(sector);
            char& known = met[sector - (uintptr_t)arena / SECTOR];
            counts.distinct += !known;
            known = 1;
        }
    }
}

// ---- launches -------------------------------------------------------------------------------------------------------

static Cell blank_cell() {
    Cell cell;
    cell.known = false;
    return cell;
}

// Copies arrays into the arena, far from each other; arguments whose memory overlaps share a region.
static void lay_out() {
    std::vector<int> order;
    for (int place = 0; place < plan->count; place++) if (plan->arguments[place].bytes >= 0) order.push_back(place);
    std::sort(order.begin(), order.end(), [](int left, int right) {
        return plan->arguments[left].host < plan->arguments[right].host; });
    regions.clear();
    values.assign((size_t)plan->count, nullptr);
    std::vector<int> region(plan->count, -1);
    for (int place : order) {
        const Argument& given = plan->arguments[place];
        Region* last = regions.empty() ? nullptr : &regions.back();
        if (last && last->bytes && (char*)given.host < last->host + last->bytes) {
            last->bytes = std::max(last->bytes, (int64_t)((char*)given.host + given.bytes - last->host));
            last->granule = std::min(last->granule, given.granule);
            last->written |= given.written != 0;
        } else {
            regions.push_back({nullptr, (char*)given.host, given.bytes, given.granule, place, given.written != 0, {}, {}});
        }
        region[(size_t)place] = (int)regions.size() - 1;
    }
    int64_t total = GUARD;
    std::vector<int64_t> starts;
    for (Region& each : regions) starts.push_back(total), total += (each.bytes + GUARD - 1) / GUARD * GUARD + GUARD;
    if ((int64_t)memory.size() < total + GUARD) memory.resize((size_t)(total + GUARD));
    arena = (char*)(((uintptr_t)memory.data() + GUARD - 1) / GUARD * GUARD);
    region_of.assign((size_t)(total / GUARD), -1);
    met.assign(plan->counting ? (size_t)(total / SECTOR) : 0, 0);
    for (size_t each = 0; each < regions.size(); each++) {
        Region& made = regions[each];
        made.low = arena + starts[each];
        if (made.bytes) memcpy(made.low, made.host, (size_t)made.bytes);
        if (made.written && !plan->counting) made.cells.assign((size_t)(made.bytes / made.granule), Cell());
        if (plan->counting) made.used.assign((size_t)(made.bytes / made.granule), 0);
        std::fill_n(region_of.begin() + starts[each] / GUARD, (made.bytes + GUARD - 1) / GUARD, (int16_t)each);
    }
    for (int place = 0; place < plan->count; place++) {
        const Argument& given = plan->arguments[place];
        if (region[(size_t)place] < 0) {
            values[(size_t)place] = given.host;
            continue;
        }
        Region& made = regions[(size_t)region[(size_t)place]];
        values[(size_t)place] = made.low + ((char*)given.host - made.host);
        if (given.blank && !plan->counting)
            std::fill_n(made.cells.begin() + ((char*)given.host - made.host) / made.granule, given.bytes / made.granule,
                        blank_cell());
    }
}

static void start(Block& block, unsigned number, size_t slot) {
    size_t threads = (size_t)plan->threads, bytes = (size_t)(shared_high - shared_low);
    block.number = number, block.barrier = block.waiting = 0, block.alive = (unsigned)threads;
    std::vector<Cell>& cells = block.shared_cells.cells;
    if (cells.size() != bytes) {  // of another program
        block.shared.assign(bytes, (char)0xcb);
        cells.assign(bytes, blank_cell());
        block.shared_cells.bytes = (int64_t)bytes, block.shared_cells.granule = 1;
        block.shared_cells.argument = -1, block.shared_cells.written = true;
    } else {
        std::fill(cells.begin() + block.begin, cells.begin() + block.end, blank_cell());
    }
    block.begin = block.end = 0;
    block.fibers.resize(threads);
    for (size_t thread = 0; thread < threads; thread++) {
        size_t place = slot * threads + thread;
        while (stacks.size() <= place) stacks.push_back((char*)aligned_alloc(64, STACK));
        Fiber& fiber = block.fibers[thread];
        fiber.stack = stacks[place], fiber.block = &block, fiber.thread = (unsigned)thread, fiber.state = READY;
        std::fill(fiber.clock, fiber.clock + WARP, 0u);
        fiber.clock[thread % WARP] = 1;
        fiber.trace.clear();
        begin(fiber.context, fiber.stack, run_fiber);
        ready.push_back(&fiber);
    }
}

// Of the shared memory what the blocks have used: they may read nothing else.
static void bring(Block* block) {
    if (block == in_place) return;
    if (in_place) memcpy(&in_place->shared[0] + in_place->begin, shared_low + in_place->begin,
                         (size_t)(in_place->end - in_place->begin));
    memcpy(shared_low + block->begin, block->shared.data() + block->begin, (size_t)(block->end - block->begin));
    in_place = block;
}

static Fiber* take(size_t& next) {
    if (!plan->seed) return ready[next++];
    size_t chosen = next + draw((unsigned)(ready.size() - next));
    std::swap(ready[chosen], ready[next]);
    return ready[next++];
}

static void run_all() {
    unsigned started = 0;
    size_t next = 0;
    const size_t resident = (size_t)std::min(plan->resident, plan->blocks);
    if (blocks.size() < resident) blocks.resize(resident);  // kept for the next launches
    for (Block& block : blocks) block.alive = 0;
    for (size_t slot = 0; slot < resident; slot++) start(blocks[slot], started++, slot);
    while (fault.empty() && next < ready.size()) {
        if (next > 4096 && next * 2 > ready.size()) ready.erase(ready.begin(), ready.begin() + (long)next), next = 0;
        now = take(next);
        bring(now->block);
        counts.switches++;
        switch_to(scheduler, now->context);
        Block* block = now->block;
        now = nullptr;
        if (block->alive || !fault.empty()) continue;
        if (plan->counting) count(*block);
        if (in_place == block) in_place = nullptr;
        if (started < (unsigned)plan->blocks) start(*block, started++, (size_t)(block - blocks.data()));
    }
    for (Block& block : blocks)
        if (fault.empty() && block.alive) fault = text("block %u: %u threads wait for each other", block.number, block.alive);
}

extern "C" int simt_run(const Plan* given, Counts* counted, char* said, int room) {
    plan = given;
    counts = {};
    fault.clear(), ready.clear();
    now = nullptr, in_place = nullptr;
    dice = plan->seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull;
    plan->shared_memory(&shared_low, &shared_high);
    lay_out();
    run_all();
    for (Region& region : regions) if (region.written && region.bytes) memcpy(region.host, region.low, (size_t)region.bytes);
    *counted = counts;
    snprintf(said, (size_t)room, "%s", fault.c_str());
    return !fault.empty();
}
