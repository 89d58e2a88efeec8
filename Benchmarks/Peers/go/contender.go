// Go: a goroutine for each fork and each closure; GOMAXPROCS is the number of workers.
package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func value(key string, otherwise int) int {
	for _, argument := range os.Args[2:] {
		if strings.HasPrefix(argument, key+"=") {
			number, err := strconv.Atoi(argument[len(key)+1:])
			if err != nil {
				panic(err)
			}
			return number
		}
	}
	return otherwise
}

func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func measure(once func() uint64) {
	warmUp := time.Duration(value("warmup_ms", 20)) * time.Millisecond
	budget := time.Duration(value("budget_ms", 150)) * time.Millisecond
	least, most := value("least", 3), value("most", 2000)
	start := time.Now()
	for {
		once()
		if time.Since(start) >= warmUp {
			break
		}
	}
	start, used, samples := time.Now(), cpu(), 0
	for samples < least || (samples < most && time.Since(start) < budget) {
		began := time.Now()
		answer := once()
		fmt.Println("sample", time.Since(began).Nanoseconds(), answer)
		samples++
	}
	fmt.Println("fact cpus", (cpu()-used).Seconds()/time.Since(start).Seconds())
}

func fib(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	var a uint64
	var child sync.WaitGroup
	child.Add(1)
	go func() {
		a = fib(n - 1)
		child.Done()
	}()
	b := fib(n - 2)
	child.Wait()
	return a + b
}

func skynet(first, leaves uint64) uint64 {
	if leaves == 1 {
		return first
	}
	var sums [10]uint64
	var children sync.WaitGroup
	children.Add(9)
	for i := uint64(0); i < 9; i++ {
		go func(i uint64) {
			sums[i] = skynet(first+i*(leaves/10), leaves/10)
			children.Done()
		}(i)
	}
	sums[9] = skynet(first+9*(leaves/10), leaves/10)
	children.Wait()
	sum := uint64(0)
	for _, part := range sums {
		sum += part
	}
	return sum
}

type board [16]int8

func (b *board) isSafe(row int) bool {
	for i := 0; i < row; i++ {
		difference := int(b[i]) - int(b[row])
		if difference == 0 || difference == row-i || difference == i-row {
			return false
		}
	}
	return true
}

func queens(row, n int, at board) uint64 {
	if row == n {
		return 1
	}
	var counts [16]uint64
	var children sync.WaitGroup
	for column := 0; column < n; column++ {
		next := at
		next[row] = int8(column)
		if !next.isSafe(row) {
			continue
		}
		children.Add(1)
		go func(column int, next board) {
			counts[column] = queens(row+1, n, next)
			children.Done()
		}(column, next)
	}
	children.Wait()
	sum := uint64(0)
	for _, count := range counts {
		sum += count
	}
	return sum
}

func integrand(x float64) float64 { return (x*x + 1) * x }

func integrate(x1, y1, x2, y2, area, epsilon float64) float64 {
	half := (x2 - x1) / 2
	middle := x1 + half
	height := integrand(middle)
	left, right := (y1+height)/2*half, (height+y2)/2*half
	if math.Abs(left+right-area) < epsilon {
		return left + right
	}
	var a float64
	var child sync.WaitGroup
	child.Add(1)
	go func() {
		a = integrate(x1, y1, middle, height, left, epsilon)
		child.Done()
	}()
	b := integrate(middle, height, x2, y2, right, epsilon)
	child.Wait()
	return a + b
}

func integral() uint64 {
	to, epsilon := float64(value("to", 100)), 1/float64(value("per_epsilon", 10000000))
	return math.Float64bits(integrate(0, integrand(0), to, integrand(to), 0, epsilon))
}

type node struct {
	left, right *node
	value       uint64
}

func tree(first, count uint64) *node {
	if count == 0 {
		return nil
	}
	left := (count - 1) / 2
	return &node{tree(first+1, left), tree(first+1+left, count-1-left), first}
}

func treeSum(at *node) uint64 {
	if at == nil {
		return 0
	}
	var a uint64
	var child sync.WaitGroup
	child.Add(1)
	go func() {
		a = treeSum(at.left)
		child.Done()
	}()
	b := treeSum(at.right)
	child.Wait()
	return at.value + a + b
}

func flood(n int, body func()) {
	var all sync.WaitGroup
	all.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			body()
			all.Done()
		}()
	}
	all.Wait()
}

func spawn() {
	n := value("n", 100000)
	measure(func() uint64 {
		flood(n, func() {})
		return 0
	})
	var ran uint64
	flood(n, func() { atomic.AddUint64(&ran, 1) })
	fmt.Println("check", ran)
}

func wake() {
	trips, quiet := value("trips", 500), value("quiet_us", 0)
	var times []int64
	var ran uint64
	for i := -10; i < trips; i++ {
		if quiet > 0 {
			time.Sleep(time.Duration(quiet) * time.Microsecond)
		}
		start := time.Now()
		flood(1, func() { atomic.AddUint64(&ran, 1) })
		if i >= 0 {
			times = append(times, time.Since(start).Nanoseconds())
		}
	}
	part := len(times) / 10
	if part == 0 {
		part = 1
	}
	for start := 0; start+part <= len(times); start += part {
		some := append([]int64(nil), times[start:start+part]...)
		sort.Slice(some, func(a, b int) bool { return some[a] < some[b] })
		fmt.Println("sample", some[part/2], ran-10)
	}
	sort.Slice(times, func(a, b int) bool { return times[a] < times[b] })
	fmt.Println("fact p99_ns", times[len(times)*99/100])
}

func pingPong() {
	n := value("n", 1000)
	measure(func() uint64 {
		ping, pong := make(chan int), make(chan int)
		go func() {
			for hit := range ping {
				pong <- hit
			}
			close(pong)
		}()
		trips := uint64(0)
		for i := 0; i < n; i++ {
			ping <- i
			<-pong
			trips++
		}
		close(ping)
		return trips
	})
}

func chain() {
	n := value("n", 10000)
	measure(func() uint64 {
		var ran uint64
		done := make(chan bool)
		var link func(left int)
		link = func(left int) {
			ran++
			if left == 1 {
				done <- true
				return
			}
			go link(left - 1)
		}
		go link(n)
		<-done
		return ran
	})
}

func blocked() {
	n, pause := value("n", 16), time.Duration(value("ms", 50))*time.Millisecond
	measure(func() uint64 {
		var ran uint64
		flood(n, func() {
			// A system call that the runtime is told nothing about but that it is one.
			rest := syscall.NsecToTimespec(pause.Nanoseconds())
			for syscall.Nanosleep(&rest, &rest) == syscall.EINTR {
			}
			atomic.AddUint64(&ran, 1)
		})
		return ran
	})
}

func main() {
	entries := map[string]func(){
		"fib":          func() { measure(func() uint64 { return fib(value("n", 20)) }) },
		"skynet":       func() { measure(func() uint64 { return skynet(0, uint64(value("leaves", 10000))) }) },
		"tree-sum":     func() { root := tree(0, uint64(value("nodes", 1023))); measure(func() uint64 { return treeSum(root) }) },
		"nqueens":      func() { measure(func() uint64 { return queens(0, value("n", 10), board{}) }) },
		"integrate":    func() { measure(integral) },
		"spawn-inside": spawn,
		"wake":         wake,
		"ping-pong":    pingPong,
		"chain":        chain,
		"blocked":      blocked,
	}
	if len(os.Args) > 1 && os.Args[1] == "list" {
		for name := range entries {
			fmt.Println(name)
		}
		return
	}
	if len(os.Args) < 2 || entries[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "go: no such workload")
		os.Exit(69)
	}
	runtime.GOMAXPROCS(value("workers", 1))
	entries[os.Args[1]]()
	fmt.Println("end")
}
