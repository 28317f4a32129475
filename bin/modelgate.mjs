#!/usr/bin/env node
import { findBun, gatewaySettings, runBun } from './bun.mjs'
import { bunFlags, programPath } from './program.mjs'
import { startMakingWeb, webDirectory } from './web.mjs'

// Signals have no default action for process 1 of a container: without handlers it could not be ended while the bundle
// is made.
const numbers = process.pid === 1 ? { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } : {}
for (const signal in numbers) process.on(signal, () => process.exit(128 + numbers[signal]))
const bun = findBun()
const program = programPath(bun)
const isServing = process.argv[2] === 'serve'
if (isServing) for (const name in gatewaySettings) process.env[name] ??= gatewaySettings[name]
// A folder of pages that the environment names is served as it is.
if (isServing && bun && !process.env.MODELGATE_WEB_DIRECTORY) {
  const directory = webDirectory()
  if (directory !== undefined) {
    process.env.MODELGATE_WEB_DIRECTORY = directory
    startMakingWeb(bun, directory)
  }
}
// Signals that came meanwhile are delivered in the next turns of the event loop.
for (let turn = 0; turn < 2; turn++) await new Promise(resolve => setImmediate(resolve))
for (const signal in numbers) process.removeAllListeners(signal)

runBun([...bunFlags(), program, ...process.argv.slice(2)])
