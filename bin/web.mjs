// The pages of `web`, built for browsers: hashed, compressed ahead, and made once for every change of their sources.
// The gateway does not wait for them: it serves the API meanwhile (`modelgate.mjs` starts this beside it).
import { spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const script = fileURLToPath(import.meta.url)
const root = dirname(dirname(script))
const source = join(root, 'web')
const folder = join(root, 'dist/web')
/** In a package there are no sources: the pages are here. */
const packed = join(root, 'program/web')
/** Names of all files with their sizes, written last: what the gateway serves, and nothing else. */
const listFile = 'files.json'
/** A maker that takes longer was killed. */
const makingMsMax = 180_000
/** Browsers may still load parts of the pages that were served before. */
const olderKept = 2
const compressible = /\.(js|css|svg|md)$/
/** The best, 11, takes 2.7 in place of 0.1 s of the first start for 7 % fewer bytes. */
const brotliQuality = 9
const licensesFile = 'licenses.md'
/** Packages of workers: Vite's list of licences has those of the page alone. */
const workerPackages = ['highlight.js']

/** Where the pages are, or will be once they are made; undefined = this installation has none. */
export function webDirectory() {
  if (existsSync(join(source, 'index.html'))) {
    const directory = join(folder, fingerprint())
    // `npm ci --omit=dev` leaves out what builds them.
    return isWhole(directory) || existsSync(join(root, 'node_modules/vite/package.json')) ? directory : undefined
  }
  return existsSync(join(packed, listFile)) ? packed : undefined
}

/** Starts making the pages where they are missing, in a process of its own, and does not wait for it. */
export function startMakingWeb(bun, directory) {
  if (directory === packed || isWhole(directory) || isBeingMade(directory)) return
  // A process between them: this one is replaced by the gateway, which does not know of the maker.
  spawnSync(bun, [script, '--apart'], { cwd: root, env: makerEnvironment(), stdio: 'ignore' })
}

/** Makes the pages where they are missing, or waits for the process that makes them. Throws the reason it failed. */
export async function ensureWeb(directory = webDirectory()) {
  for (const untilMs = Date.now() + makingMsMax; !isWhole(directory); ) {
    if (takeTurn(directory)) await makeInTurn(directory)
    else if (Date.now() > untilMs) throw new Error('the pages were not made in time')
    else await new Promise(resolve => setTimeout(resolve, 100))
  }
  return directory
}

/** Builds into `target`, which is replaced. `development` = with the page of all parts, not minified or compressed. */
export async function makeWeb(target, { development = false } = {}) {
  const { build } = await import('vite')
  rmSync(target, { recursive: true, force: true })
  const mode = development ? 'development' : 'production'
  const before = process.env.NODE_ENV
  // It would decide which build of React goes in: that of tests is none.
  process.env.NODE_ENV = mode
  try {
    await build({
      root: source,
      configFile: join(source, 'vite.config.ts'),
      logLevel: 'error',
      mode,
      build: { outDir: target, emptyOutDir: true, minify: !development },
    })
  } finally {
    if (before === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = before
  }
  for (const name of workerPackages) {
    const license = readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8')
    appendFileSync(join(target, licensesFile), `\n## ${name}\n\n${license}`)
  }
  if (!development)
    for (const file of filesBelow(target).filter(name => compressible.test(name))) compress(join(target, file))
  const sizes = filesBelow(target).map(file => [file, statSync(join(target, file)).size])
  writeFileSync(join(target, listFile), JSON.stringify(Object.fromEntries(sizes)))
}

function compress(file) {
  const bytes = readFileSync(file)
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality }
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }))
}

/** Relative, sorted, with slashes. */
function filesBelow(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(directory, join(entry.parentPath ?? entry.path, entry.name)).replaceAll('\\', '/'))
    .sort()
}

/** Changes with every file that goes into the pages, and with the packages that are installed. */
function fingerprint() {
  const hash = createHash('sha256')
  const files = filesBelow(source).filter(file => !/(\.test\.tsx?|\.d\.ts|\.md)$/.test(file))
  const others = [script, join(root, 'node_modules/.package-lock.json')]
  for (const file of [...files.map(file => join(source, file)), ...others]) {
    const content = existsSync(file) ? readFileSync(file) : ''
    hash.update(`${relative(root, file)} ${content.length}\n`).update(content)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Whether all of its files are there with their recorded sizes: a full disk may have cut one. */
function isWhole(directory) {
  try {
    const sizes = JSON.parse(readFileSync(join(directory, listFile), 'utf8'))
    return Object.entries(sizes).every(([name, bytes]) => statSync(join(directory, name)).size === bytes)
  } catch {
    return false
  }
}

const turnOf = directory => `${directory}.making`
/** Read by the gateway: it shows the reason in the place of the pages. */
const failureOf = directory => `${directory}.failed`

function isBeingMade(directory) {
  const since = statSync(turnOf(directory), { throwIfNoEntry: false })?.mtimeMs
  return since !== undefined && Date.now() - since < makingMsMax
}

/** Of many that start at once, one makes the pages. */
function takeTurn(directory) {
  mkdirSync(folder, { recursive: true })
  if (!isBeingMade(directory)) rmSync(turnOf(directory), { force: true })
  try {
    writeFileSync(turnOf(directory), String(process.pid), { flag: 'wx' })
    return true
  } catch {
    return false
  }
}

/** Under another name first: what is served is whole. */
async function makeInTurn(directory) {
  const draft = `${directory}.${randomUUID()}`
  try {
    await makeWeb(draft)
    rmSync(directory, { recursive: true, force: true })
    renameSync(draft, directory)
    rmSync(failureOf(directory), { force: true })
    removeOlder(directory)
  } catch (error) {
    writeFileSync(failureOf(directory), reasonOf(error))
    throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
    rmSync(turnOf(directory), { force: true })
  }
}

/** Everybody may read it: where this installation is on its machine is left out. */
function reasonOf(error) {
  const message = error instanceof Error ? error.message : String(error)
  return message.replaceAll(`${root}/`, '').replaceAll(root, '.')
}

/** Removes the pages of older sources, and what makers that were killed have left; known by the form of the names. */
function removeOlder(directory) {
  utimesSync(directory, new Date(), new Date())
  const changedMs = path => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const paths = names => names.map(name => join(folder, name)).filter(path => path !== directory)
  const names = readdirSync(folder)
  const older = paths(names.filter(name => /^[0-9a-f]{16}$/.test(name)))
    .sort((one, other) => changedMs(other) - changedMs(one))
    .slice(olderKept)
  const left = paths(names.filter(name => /^[0-9a-f]{16}\.[\w-]+$/.test(name))).filter(
    path => changedMs(directory) - changedMs(path) > 2 * makingMsMax,
  )
  for (const path of [...older, ...left]) rmSync(path, { recursive: true, force: true })
}

/** Without NODE_ENV and BUN_OPTIONS, which are meant for the gateway. */
function makerEnvironment() {
  return { PATH: process.env.PATH, HOME: process.env.HOME, SystemRoot: process.env.SystemRoot }
}

if (process.argv[1] === script) {
  if (process.argv[2] === '--apart') {
    const { spawn } = await import('node:child_process')
    spawn(process.execPath, [script], { cwd: root, env: makerEnvironment(), stdio: 'ignore', detached: true }).unref()
  } else {
    process.stdout.write(`${await ensureWeb()}\n`)
  }
}
