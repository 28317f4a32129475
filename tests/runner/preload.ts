/** Loaded before the files of a test process. */
import { joinedWorker } from './joined-workers.ts'

/**
 * While a test waits for timers and threads alone that are `unref`ed, as the program's are beside its server, `bun test`
 * asks for them again and again without a pause (Bun 1.4.4): it takes a whole processor. What is not `unref`ed lets it
 * sleep until something happens.
 */
const longestMs = 2 ** 31 - 1
setInterval(() => {}, longestMs)

/** Threads start from the files in this folder (joined-workers.ts). Absent in the tests of the runner itself. */
const folder = process.env.TEST_JOINED_WORKERS
if (folder) startThreadsFrom(folder)

function startThreadsFrom(folder: string): void {
  const usual = globalThis.Worker
  globalThis.Worker = class extends usual {
    constructor(source: string | URL, options?: WorkerOptions) {
      const joined = source instanceof URL ? joinedWorker(folder, Bun.fileURLToPath(source)) : undefined
      super(joined ? Bun.pathToFileURL(joined) : source, options)
    }
  }
}
