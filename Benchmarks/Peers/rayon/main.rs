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
    let warm_up = Duration::from_millis(value("warmup_ms", 20) as u64);
    let budget = Duration::from_millis(value("budget_ms", 150) as u64);
    let (least, most) = (value("least", 3), value("most", 2000));
    let start = Instant::now();
    loop {
        once();
        if start.elapsed() >= warm_up {
            break;
        }
    }
    let (start, used) = (Instant::now(), cpu());
    let mut samples = 0;
    while samples < least || (samples < most && start.elapsed() < budget) {
        let began = Instant::now();
        let answer = once();
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

const WORKLOADS: [&str; 11] = [
    "fib", "skynet", "nqueens", "tree-sum", "loop-flops", "loop-empty", "loop-imbalanced", "loop-grain",
    "spawn-outside", "spawn-inside", "wake",
];

fn main() {
    let word = std::env::args().nth(1).unwrap_or_default();
    if word == "list" {
        println!("{}", WORKLOADS.join("\n"));
        return;
    }
    rayon::ThreadPoolBuilder::new().num_threads(value("workers", 1) as usize).build_global().unwrap();
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
