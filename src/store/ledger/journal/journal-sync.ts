/** Syncs the journal of this process to the disk, so that a loss of power takes no more than two rounds. */
import { listSegments, segmentPath } from './journal.ts'
import { syncData, syncNames } from './disk-sync.ts'
import type { ThrottledReport } from '../throttled-report.ts'

interface JournalSyncOptions {
  readonly directory: string
  /** Names the process, see `SegmentName`. */
  readonly start: string
  readonly failures: ThrottledReport
}

/** One per journal that this process writes. What a failed round did not sync is synced by the next one. */
export class JournalSync {
  readonly #options: JournalSyncOptions
  /** New data since the last round. */
  #changed = true
  /** Segments before this one are on the disk. */
  #from = 1
  #running = false

  constructor(options: JournalSyncOptions) {
    this.#options = options
  }

  /** Everything up to the last call of `changed` is on the disk. */
  get isDone(): boolean {
    return !this.#changed && !this.#running
  }

  /** The journal may have grown. */
  changed(): void {
    this.#changed = true
  }

  /** One round, if there is anything to do: the pages of the journal, and the names of new segments. Never rejects. */
  async run(): Promise<void> {
    if (!this.#changed || this.#running) return
    this.#running = true
    this.#changed = false
    const { directory, start, failures } = this.#options
    try {
      const own = listSegments(directory).filter(name => name.start === start && name.sequence >= this.#from)
      for (const name of own) await syncData(segmentPath(directory, name))
      const newest = own.at(-1)?.sequence ?? 0
      if (newest > this.#from + 1 || this.#from === 1) await syncNames(directory)
      // The newest may be a spare, and the one before it is being written.
      this.#from = Math.max(this.#from, newest - 1)
      failures.succeeded()
    } catch (error) {
      this.#changed = true
      failures.failed(error)
    } finally {
      this.#running = false
    }
  }
}
