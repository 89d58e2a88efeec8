// wordcount DIRECTORY — the ten most frequent words of the Swift files below a directory.
import Foundation

let directory = URL(fileURLWithPath: CommandLine.arguments.dropFirst().first ?? ".")
let words = WordCount()
let queue = OperationQueue()
let listing = Listing(directory)
let counting = BlockOperation { words.count(listing.files) }
counting.addDependency(listing)

let heartbeat = DispatchSource.makeTimerSource(queue: .global())
heartbeat.setEventHandler { FileHandle.standardError.write(Data("still counting\n".utf8)) }
heartbeat.schedule(deadline: .now() + 5, repeating: 5)
heartbeat.activate()

counting.completionBlock = {
    DispatchQueue.main.async {
        dispatchPrecondition(condition: .onQueue(.main))
        heartbeat.cancel()
        print("\(listing.files.count) files on \(type(of: queue))")
        for (word, count) in words.top(10) { print(count, word) }
        exit(0)
    }
}
queue.addOperations([counting, listing], waitUntilFinished: false)
dispatchMain()
