/** What becomes of a command whose reader has gone, as `head` does after its lines. */
import { errorCode } from '../lib/error-code.ts'

/** The code that a shell gives a process which the signal of a closed pipe (SIGPIPE, 13) has ended: 128 and 13. */
export const closedPipeCode = 141

let goesOn = false

/**
 * Ends this process without a word when its output has no reader any more; other faults of the output are thrown. Where
 * only the notes on standard error have none, the command goes on, and ends with the code that it has anyway.
 */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', error => {
      if (errorCode(error) !== 'EPIPE') throw error
      if (!goesOn && stream === process.stdout) process.exit(closedPipeCode)
    })
}

/** For a command that serves others: it goes on when what it writes has no reader. */
export function goOnWithoutReader(): void {
  goesOn = true
}
