#!/usr/bin/env node
// Runs a script with the Bun that npm installed. Needs nothing but Node >= 20: with install scripts blocked
// `node_modules/.bin/bun` is only a stub, so the platform's own package is looked up here.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Names of the packages that may hold a fitting binary, best first. */
function candidates() {
  const arch = process.arch === 'arm64' ? 'aarch64' : process.arch
  const base = `bun-${process.platform === 'win32' ? 'windows' : process.platform}-${arch}`
  if (process.platform !== 'linux') return [base, `${base}-baseline`]
  const musl =
    existsSync('/etc/alpine-release') || spawnSync('ldd', ['--version'], { encoding: 'utf8' }).stderr?.includes('musl')
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

/** Smaller files are the stub that stands in while install scripts are blocked. */
const binaryBytesMin = 1_000_000

function isBinary(path) {
  return existsSync(path) && statSync(path).size > binaryBytesMin
}

/** The path of the Bun binary, or undefined. Bun's install script, where it runs, moves it into the package `bun`. */
export function findBun() {
  const require = createRequire(import.meta.url)
  const inPackage = (name, ...path) => {
    try {
      return join(dirname(require.resolve(`${name}/package.json`)), ...path)
    } catch {
      return ''
    }
  }
  const file = process.platform === 'win32' ? 'bun.exe' : 'bun'
  const places = [
    ...candidates().map(name => inPackage(`@oven/${name}`, 'bin', file)),
    inPackage('bun', 'bin', 'bun.exe'),
  ]
  return places.find(isBinary)
}

/** The settings of the runtime that the gateway is measured with; the environment wins over them. */
export const runtimeSettings = {
  // Bun queues what exceeds 256 fetches at once, silently.
  BUN_CONFIG_MAX_HTTP_REQUESTS: '5000',
  // Freed memory goes back to the system after five seconds: one second costs a tenth more processor time per small
  // call, 30 s keep 10 to 20 MB more after a load (`npm run bench`, docs/decisions/0005).
  MIMALLOC_PURGE_DELAY: '5000',
  // Holes between large blocks in use go back likewise, where the allocator would keep 4 MB of them: 104 in place of
  // 110 MB after a load of calls, streams and translated calls, and no difference for large bodies.
  MIMALLOC_PURGE_HOLES_LARGE_FLOOR: '0',
  // The collector plans as on a machine of 768 MB: large bodies are collected sooner, and after a load 20 MB less are
  // kept than without it. 512 MB cost more of the p99, 128 MB a third of the requests/s.
  BUN_JSC_forceRAMSize: String(768 * 1024 * 1024),
}

/**
 * Of a gateway beside them. While it starts, compilers wait until a function has run thirty times as often as by
 * default: most of what a start runs is not run again, and what is compiled of it stays. It ends that itself when it
 * has started (`src/lib/compile-policy.ts`).
 */
export const gatewaySettings = { BUN_JSC_startupJITDeferralScale: '30' }

/** Runs Bun with these arguments in place of this process, or as its only child. */
export function runBun(args) {
  const bun = findBun()
  if (!bun) {
    process.stderr.write('Bun is not installed for this platform; run `npm ci` in the project folder first.\n')
    process.exit(1)
  }
  const env = { ...runtimeSettings, ...process.env }
  // npm starts this in a shell that passes no signals on: the gateway watches that shell and stops when it is gone
  // (cli/serve.ts).
  if (process.env.npm_lifecycle_event) env.MODELGATE_SHELL_PID ??= String(process.ppid)
  // Where Node has `execve` (22.15), Bun replaces this process, so that no second one stays in memory.
  if (typeof process.execve === 'function' && process.platform !== 'win32') process.execve(bun, [bun, ...args], env)
  // Set before Bun is started: a signal in between would end this process alone and leave Bun behind.
  let child
  // A launcher that is killed with SIGKILL cannot pass it on: Bun looks whether this process is still its parent
  // (src/cli/launcher.ts).
  env.MODELGATE_LAUNCHER_PID = String(process.pid)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child = spawn(bun, args, { stdio: 'inherit', env })
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) runBun(process.argv.slice(2))
