#!/usr/bin/env node
import { findBun, runBun } from './bun.mjs'
import { bunFlags, programPath } from './program.mjs'

// Nothing ends process 1 of a container by itself: who is told to end while the bundle is made has to.
const numbers = process.pid === 1 ? { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } : {}
for (const signal in numbers) process.on(signal, () => process.exit(128 + numbers[signal]))
const program = programPath(findBun())
// What came meanwhile is heard once this turn is over.
for (let turn = 0; turn < 2; turn++) await new Promise(resolve => setImmediate(resolve))
for (const signal in numbers) process.removeAllListeners(signal)

runBun([...bunFlags(), program, ...process.argv.slice(2)])
