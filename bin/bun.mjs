#!/usr/bin/env node
// Runs a script with the Bun that npm installed. Needs nothing but Node >= 20: with install scripts blocked
// `node_modules/.bin/bun` is only a stub, so the platform's own package is looked up here.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Names of the packages that may hold a fitting binary, best first. */
function candidates() {
  const arch = process.arch === 'arm64' ? 'aarch64' : process.arch
  const base = `bun-${process.platform === 'win32' ? 'windows' : process.platform}-${arch}`
  if (process.platform !== 'linux') return [base, `${base}-baseline`]
  const musl = existsSync('/etc/alpine-release') || spawnSync('ldd', ['--version'], { encoding: 'utf8' }).stderr?.includes('musl')
  const libc = musl ? `${base}-musl` : base
  return process.arch === 'x64' && !hasAvx2() ? [`${libc}-baseline`] : [libc, `${libc}-baseline`]
}

function hasAvx2() {
  try {
    return readFileSync('/proc/cpuinfo', 'utf8').includes(' avx2')
  } catch {
    return true
  }
}

/** The path of the Bun binary, or undefined. */
export function findBun() {
  const require = createRequire(import.meta.url)
  const file = process.platform === 'win32' ? 'bun.exe' : 'bun'
  for (const name of candidates()) {
    try {
      const path = join(dirname(require.resolve(`@oven/${name}/package.json`)), 'bin', file)
      if (existsSync(path)) return path
    } catch {
      // Not installed: the next one.
    }
  }
  return undefined
}

/** Runs Bun with these arguments in place of this process, or as its only child. */
export function runBun(args) {
  const bun = findBun()
  if (!bun) {
    process.stderr.write('Bun is not installed for this platform; run `npm ci` in the project folder first.\n')
    process.exit(1)
  }
  // Bun queues what exceeds 256 fetches at once, silently.
  const env = { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: process.env.BUN_CONFIG_MAX_HTTP_REQUESTS ?? '5000' }
  // Newer Nodes can become Bun; then no second process stays in memory.
  if (typeof process.execve === 'function' && process.platform !== 'win32') process.execve(bun, [bun, ...args], env)
  const child = spawn(bun, args, { stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) runBun(process.argv.slice(2))
