import { goOnWithoutReader } from './closed-pipe.ts'
import type { Command } from './command.ts'
import { UsageError } from './command.ts'
import { portNumber, text } from './options.ts'

/**
 * Runs until SIGINT or SIGTERM. Throws UsageError, or an Error that says why it cannot listen and which flag to change.
 */
export const simulate: Command = {
  name: 'simulate',
  summary: 'Serve a simulated upstream: scripted answers, seeded faults, a truth log (docs/simulator.md)',
  flags: {
    port: { type: 'string', value: 'N', help: 'Port (default 4010; 0 = any that is free)' },
    host: { type: 'string', value: 'H', help: 'Address to listen on (default 127.0.0.1)' },
    seed: { type: 'string', value: 'N', help: 'Seed of answers and faults (default 1)' },
    'prompt-caches': { type: 'boolean', help: "Cache prompts as vendors do, in place of the texts' directives" },
  },
  async run({ flags }) {
    const port = portNumber(text(flags.port) ?? '4010', '--port')
    const host = text(flags.host) ?? '127.0.0.1'
    const seed = seedOf(text(flags.seed) ?? '1')
    goOnWithoutReader()
    // Imported here to save memory in the gateway.
    const { runSimulator } = await import('../../simulator/index.ts')
    await runSimulator({ port, host, seed, ...(flags['prompt-caches'] === true && { promptCaches: {} }) }).catch(
      (thrown: unknown) => {
        throw explainFailure(thrown, host, port)
      },
    )
    return 0
  },
}

function seedOf(value: string): number {
  const seed = /^\d+$/.test(value) ? Number(value) : Number.NaN
  if (Number.isSafeInteger(seed)) return seed
  throw new UsageError(`--seed must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}; got '${value}'`)
}

/** Replaces errors of listening by a message that names the flag; other errors are unchanged. */
function explainFailure(thrown: unknown, host: string, port: number): unknown {
  if (!(thrown instanceof Error)) return thrown
  const { code = '', syscall = '' } = thrown as Error & { code?: string; syscall?: string }
  // For unknown host names Bun reports a message without a code, or the failed system call of the resolver.
  const isListening = ['listen', 'getaddrinfo'].includes(syscall) || thrown.message.startsWith('Failed to listen')
  return isListening ? new Error(listenMessage(code, host, port), { cause: thrown }) : thrown
}

function listenMessage(code: string, host: string, port: number): string {
  if (code === 'EADDRINUSE')
    return (
      `cannot listen on port ${port} of ${host}: another program uses it; choose another with --port, or ` +
      '--port 0 for any that is free'
    )
  if (code === 'EACCES')
    return `cannot listen on port ${port} of ${host}: it is not for everyone; choose one from 1024 with --port`
  return (
    `cannot listen on '${host}': this machine has no such address; give --host one that it has, or 0.0.0.0 for ` +
    'all of them'
  )
}
