// rayon: join for two, parallel iterators for many and for loops, spawn for closures.
use rayon::prelude::*;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

fn value(key: &str, otherwise: i64) -> i64 {
    std::env::args()
        .skip(2)
        .find_map(|a| a.strip_prefix(key).and_then(|a| a.strip_prefix('=')).map(|v| v.parse().unwrap()))
        .unwrap_or(otherwise)
}

fn cpu() -> Duration {
    // The process's CPU time, in clock ticks of a hundredth of a second.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split(' ').collect();
    let ticks: u64 = fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

fn measure(mut once: impl FnMut() -> u64) {
    measure_prepared(&mut (), |_| (), |_| once())
}

/// `prepare` runs before each and is not timed.
fn measure_prepared<T>(state: &mut T, mut prepare: impl FnMut(&mut T), mut once: impl FnMut(&mut T) -> u64) {
    let warm_up = Duration::from_millis(value("warmup_ms", 20) as u64);
    let budget = Duration::from_millis(value("budget_ms", 150) as u64);
    let (least, most) = (value("least", 3), value("most", 2000));
    let start = Instant::now();
    while value("cold", 0) == 0 {
        prepare(state);
        once(state);
        if start.elapsed() >= warm_up {
            break;
        }
    }
    let (start, used) = (Instant::now(), cpu());
    let mut samples = 0;
    while samples < least || (samples < most && start.elapsed() < budget) {
        prepare(state);
        let began = Instant::now();
        let answer = once(state);
        println!("sample {} {}", began.elapsed().as_nanos(), answer);
        samples += 1;
    }
    println!("fact cpus {}", (cpu() - used).as_secs_f64() / start.elapsed().as_secs_f64());
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn skynet(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    (0..10usize)
        .into_par_iter()
        .with_max_len(1)
        .map(|i| skynet(first + i as u64 * (leaves / 10), leaves / 10))
        .sum()
}

fn is_safe(row: usize, board: &[i8; 16]) -> bool {
    (0..row).all(|i| {
        let difference = board[i] as i32 - board[row] as i32;
        difference != 0 && difference.unsigned_abs() as usize != row - i
    })
}

fn queens(row: usize, n: usize, board: [i8; 16]) -> u64 {
    if row == n {
        return 1;
    }
    (0..n)
        .into_par_iter()
        .with_max_len(1)
        .map(|column| {
            let mut next = board;
            next[row] = column as i8;
            if is_safe(row, &next) {
                queens(row + 1, n, next)
            } else {
                0
            }
        })
        .sum()
}

struct Node {
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
    value: u64,
}

fn tree(first: u64, count: u64) -> Option<Box<Node>> {
    if count == 0 {
        return None;
    }
    let left = (count - 1) / 2;
    Some(Box::new(Node {
        left: tree(first + 1, left),
        right: tree(first + 1 + left, count - 1 - left),
        value: first,
    }))
}

fn tree_sum(node: &Option<Box<Node>>) -> u64 {
    match node {
        None => 0,
        Some(node) => {
            let (a, b) = rayon::join(|| tree_sum(&node.left), || tree_sum(&node.right));
            node.value + a + b
        }
    }
}

// ---- trees whose leaves are those of workloads.c ----

#[repr(C)]
#[derive(Clone, Copy)]
struct UtsNode {
    state: [u8; 20],
    depth: i32,
}

#[repr(C)]
struct UtsTree {
    geometric: bool,
    b0: f64,
    most_depth: i32,
    q: f64,
    m: i32,
    seed: i32,
}

extern "C" {
    fn wl_uts_root(tree: *const UtsTree) -> UtsNode;
    fn wl_uts_child(parent: *const UtsNode, number: i32) -> UtsNode;
    fn wl_uts_children(tree: *const UtsTree, node: *const UtsNode) -> i32;
    fn wl_matmul_leaf(a: *const f64, b: *const f64, c: *mut f64, stride: usize);
    fn wl_merge_front(a: *const i32, a_count: usize, b: *const i32, b_count: usize, into: *mut i32, count: usize);
    fn wl_merge_back(a: *const i32, a_count: usize, b: *const i32, b_count: usize, into: *mut i32, count: usize);
    fn wl_sort_leaf(values: *mut i32, room: *mut i32, count: usize);
    fn wl_partition(values: *mut i32, count: usize) -> usize;
}

/// A place that several branches write different parts of.
struct Place<T>(*mut T);
unsafe impl<T> Send for Place<T> {}
unsafe impl<T> Sync for Place<T> {}
impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Place<T> {}
impl<T> Place<T> {
    fn at(self, index: usize) -> *mut T {
        unsafe { self.0.add(index) }
    }
    fn from(self, index: usize) -> Self {
        Place(self.at(index))
    }
}

// The trees of wl_uts_named.
fn uts_named(name: i64) -> UtsTree {
    let geometric = name == 0 || name == 1;
    UtsTree {
        geometric,
        b0: if geometric { 4.0 } else { 2000.0 },
        most_depth: if name == 0 { 8 } else { 10 },
        q: if name == 3 { 0.124875 } else { 0.200014 },
        m: if name == 3 { 8 } else { 5 },
        seed: if geometric { 19 } else if name == 3 { 42 } else { 7 },
    }
}

fn uts(tree: &UtsTree, node: UtsNode) -> u64 {
    let children = unsafe { wl_uts_children(tree, &node) };
    if children == 0 {
        return 1;
    }
    1 + (0..children)
        .into_par_iter()
        .with_max_len(1)
        .map(|i| uts(tree, unsafe { wl_uts_child(&node, i) }))
        .sum::<u64>()
}

fn matmul(a: Place<f64>, b: Place<f64>, c: Place<f64>, n: usize, stride: usize) {
    if n <= 32 {
        return unsafe { wl_matmul_leaf(a.0, b.0, c.0, stride) };
    }
    let (h, down) = (n / 2, n / 2 * stride);
    // Each quarter of c takes the k-th half of the products.
    for k in 0..2 {
        let quarter = |row: usize, column: usize| {
            matmul(a.from(row + k * h), b.from(k * down + column), c.from(row + column), h, stride)
        };
        rayon::join(
            || rayon::join(|| quarter(0, 0), || quarter(0, h)),
            || rayon::join(|| quarter(down, 0), || quarter(down, h)),
        );
    }
}

fn integrand(x: f64) -> f64 {
    (x * x + 1.0) * x
}

fn integrate(x1: f64, y1: f64, x2: f64, y2: f64, area: f64, epsilon: f64) -> f64 {
    let half = (x2 - x1) / 2.0;
    let middle = x1 + half;
    let height = integrand(middle);
    let (left, right) = ((y1 + height) / 2.0 * half, (height + y2) / 2.0 * half);
    if (left + right - area).abs() < epsilon {
        return left + right;
    }
    let (a, b) = rayon::join(
        || integrate(x1, y1, middle, height, left, epsilon),
        || integrate(middle, height, x2, y2, right, epsilon),
    );
    a + b
}

const SORT_LEAF: usize = 2048;

fn mergesort(values: Place<i32>, room: Place<i32>, count: usize) {
    if count <= SORT_LEAF {
        return unsafe { wl_sort_leaf(values.0, room.0, count) };
    }
    let (h, rest) = (count / 2, count - count / 2);
    rayon::join(|| mergesort(values, room, h), || mergesort(values.from(h), room.from(h), rest));
    rayon::join(
        || unsafe { wl_merge_front(values.at(0), h, values.at(h), rest, room.at(0), h) },
        || unsafe { wl_merge_back(values.at(0), h, values.at(h), rest, room.at(0), rest) },
    );
    rayon::join(
        || unsafe { std::ptr::copy_nonoverlapping(room.at(0), values.at(0), h) },
        || unsafe { std::ptr::copy_nonoverlapping(room.at(h), values.at(h), rest) },
    );
}

fn quicksort(values: Place<i32>, room: Place<i32>, count: usize) {
    if count <= SORT_LEAF {
        return unsafe { wl_sort_leaf(values.0, room.0, count) };
    }
    let k = unsafe { wl_partition(values.0, count) };
    rayon::join(|| quicksort(values, room, k), || quicksort(values.from(k), room.from(k), count - k));
}

// splitmix64, as wl_random.
fn random(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
    z ^ (z >> 31)
}

fn sort(body: fn(Place<i32>, Place<i32>, usize)) {
    let n = value("n", 1000000) as usize;
    let (mut values, mut room) = (vec![0i32; n], vec![0i32; n]);
    measure_prepared(
        &mut values,
        |values| values.iter_mut().enumerate().for_each(|(i, v)| *v = random(i as u64) as i32),
        |values| {
            let (values, room) = (Place(values.as_mut_ptr()), Place(room.as_mut_ptr()));
            rayon::scope(|_| body(values, room, n));
            0
        },
    );
    let answer = if values.windows(2).any(|pair| pair[1] < pair[0]) {
        0
    } else {
        values.iter().enumerate().fold(1u64, |sum, (i, &v)| sum.wrapping_add(random(i as u64).wrapping_mul(v as i64 as u64)))
    };
    println!("check {}", answer);
}

fn square() {
    let n = value("n", 512) as usize;
    let of = |f: fn(usize, usize) -> usize| -> Vec<f64> { (0..n * n).map(|at| f(at / n, at % n) as f64).collect() };
    let (mut a, mut b, mut c) = (of(|i, j| (i * 7 + j * 3) % 11), of(|i, j| (i * 5 + j * 13) % 7), vec![0.0; n * n]);
    let (a, b) = (Place(a.as_mut_ptr()), Place(b.as_mut_ptr()));
    measure_prepared(
        &mut c,
        |c| c.fill(0.0),
        |c| {
            let c = Place(c.as_mut_ptr());
            rayon::scope(|_| matmul(a, b, c, n, n));
            0
        },
    );
    let answer = c.iter().enumerate().fold(0u64, |sum, (at, &v)| {
        sum.wrapping_add(random((at / n) as u64).wrapping_mul(random((n + at % n) as u64)).wrapping_mul(v as u64))
    });
    println!("check {}", answer);
}

fn spin(seed: u64, steps: u64) -> u64 {
    let mut x = seed | 1;
    for _ in 0..steps {
        x = black_box(x.wrapping_mul(0x5851f42d4c957f2d).wrapping_add(0x14057b7ef767814f));
    }
    x
}

fn steps(i: usize, n: usize) -> u64 {
    (i % 1000 * if i >= n - n / 100 { 50 } else { 1 }) as u64
}

fn looped(n: usize, body: impl Fn(usize) + Sync) {
    measure(|| {
        (0..n).into_par_iter().for_each(&body);
        0
    });
    let marks: Vec<AtomicU64> = (0..n).map(|_| AtomicU64::new(0)).collect();
    (0..n).into_par_iter().for_each(|i| {
        marks[i].fetch_add(1, Relaxed);
    });
    println!("check {}", marks.iter().filter(|mark| mark.load(Relaxed) == 1).count());
}

// A scope waits for what was spawned in it; the submitter is a thread of none of the pool's.
fn spawn_outside(n: i64, body: impl Fn() + Sync) {
    rayon::in_place_scope(|scope| {
        for _ in 0..n {
            scope.spawn(|_| body());
        }
    });
}

fn spawn_inside(n: i64, body: impl Fn() + Sync) {
    rayon::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|_| body());
        }
    });
}

fn wake() {
    let (trips, quiet) = (value("trips", 500), value("quiet_us", 0));
    let (mut times, ran) = (Vec::new(), AtomicU64::new(0));
    for i in -10..trips {
        if quiet > 0 {
            std::thread::sleep(Duration::from_micros(quiet as u64));
        }
        let start = Instant::now();
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| {
                ran.fetch_add(1, Relaxed);
            })
        });
        if i >= 0 {
            times.push(start.elapsed().as_nanos());
        }
    }
    // The medians of ten parts, one after another.
    let part = (times.len() / 10).max(1);
    for some in times.chunks_exact(part) {
        let mut some = some.to_vec();
        some.sort();
        println!("sample {} {}", some[part / 2], ran.load(Relaxed) - 10);
    }
    times.sort();
    println!("fact p99_ns {}", times[times.len() * 99 / 100]);
}

const WORKLOADS: [&str; 16] = [
    "fib", "skynet", "nqueens", "matmul", "uts", "integrate", "mergesort", "quicksort", "tree-sum", "loop-flops", "loop-empty",
    "loop-imbalanced", "loop-grain", "spawn-outside", "spawn-inside", "wake",
];

fn main() {
    let word = std::env::args().nth(1).unwrap_or_default();
    if word == "list" {
        println!("{}", WORKLOADS.join("\n"));
        return;
    }
    // UTS T3L is 17,844 deep; address space costs nothing until it is touched.
    let stack = if word == "uts" { 4 << 30 } else { 8 << 20 };
    rayon::ThreadPoolBuilder::new().num_threads(value("workers", 1) as usize).stack_size(stack).build_global().unwrap();
    match word.as_str() {
        "fib" => {
            let n = value("n", 25) as u64;
            measure(|| rayon::scope(|_| fib(n)))
        }
        "skynet" => {
            let leaves = value("leaves", 100000) as u64;
            measure(|| rayon::scope(|_| skynet(0, leaves)))
        }
        "nqueens" => {
            let n = value("n", 10) as usize;
            measure(|| rayon::scope(|_| queens(0, n, [0; 16])))
        }
        "matmul" => square(),
        "uts" => {
            let tree = uts_named(value("tree", 0));
            measure(|| rayon::scope(|_| uts(&tree, unsafe { wl_uts_root(&tree) })))
        }
        "integrate" => {
            let (to, epsilon) = (value("to", 100) as f64, 1.0 / value("per_epsilon", 10000000) as f64);
            measure(|| rayon::scope(|_| integrate(0.0, integrand(0.0), to, integrand(to), 0.0, epsilon).to_bits()))
        }
        "mergesort" => sort(mergesort),
        "quicksort" => sort(quicksort),
        "tree-sum" => {
            let root = tree(0, value("nodes", 1023) as u64);
            measure(|| rayon::scope(|_| tree_sum(&root)))
        }
        "loop-flops" => {
            let n = value("n", 1000000) as usize;
            let x: Vec<f64> = (0..n).map(|i| (i % 1024) as f64).collect();
            let mut y = vec![0.0; n];
            measure(|| {
                y.par_iter_mut().zip(&x).for_each(|(y, &x)| *y = 1.5 * x * x + 0.5 * x + 2.0);
                0
            });
            let right = y.iter().zip(&x).filter(|(&y, &x)| y == 1.5 * x * x + 0.5 * x + 2.0).count();
            println!("check {}", right);
        }
        "loop-empty" => looped(value("n", 1000000) as usize, |i| {
            black_box(i);
        }),
        "loop-imbalanced" => {
            let n = value("n", 20000) as usize;
            looped(n, |i| {
                black_box(spin(i as u64, steps(i, n)));
            })
        }
        "loop-grain" => {
            let count = value("steps", 1000) as u64;
            looped(value("n", 10000) as usize, |i| {
                black_box(spin(i as u64, count));
            })
        }
        "spawn-outside" | "spawn-inside" => {
            let (n, outside) = (value("n", 100000), word == "spawn-outside");
            if value("submitters", 1) != 1 {
                eprintln!("rayon: several submitters are not written");
                std::process::exit(69);
            }
            measure(|| {
                if outside {
                    spawn_outside(n, || ())
                } else {
                    spawn_inside(n, || ())
                }
                0
            });
            let ran = AtomicU64::new(0);
            let add = || {
                ran.fetch_add(1, Relaxed);
            };
            if outside {
                spawn_outside(n, add)
            } else {
                spawn_inside(n, add)
            }
            println!("check {}", ran.load(Relaxed));
        }
        "wake" => wake(),
        _ => {
            eprintln!("rayon: no workload named {}", word);
            std::process::exit(69);
        }
    }
    println!("end");
}
