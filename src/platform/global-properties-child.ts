/**
 * Prints how often compiled code that reads globals was given up after others were read. `read` as its argument = all
 * were read before.
 */
import { numberOfDFGCompiles, reoptimizationRetryCount } from 'bun:jsc'
import { readGlobals } from './global-properties.ts'

if (process.argv[2] === 'read') readGlobals()

function called(times: number): number {
  let sum = 0
  for (let at = 0; at < times; at++) sum += Math.abs(at % 7) + Buffer.byteLength('ab')
  return sum
}

function run(): void {
  for (let round = 0; round < 20_000; round++) called(50)
}

while (numberOfDFGCompiles(called) === 0) run()
for (const name of ['fetch', 'setImmediate']) {
  Reflect.get(globalThis, name)
  run()
}
process.stdout.write(String(reoptimizationRetryCount(called)))
