// The program as one file. Loading some 450 modules one by one costs 6 MB of memory that stays and a third of the
// time of starting (docs/decisions/0008); joining them takes Bun a tenth of a second, once for every change of them.
import { spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, 'src/main.ts')
const folder = join(root, 'dist')
/** In a package (scripts/package.ts) there are no sources: their bundle, with all that they import, is here. */
const packed = join(root, 'program')
/** Says how long each file of the bundle is; written last. */
const sizesFile = 'sizes.json'
/** A gateway that runs still loads parts of the bundle it was started from when they are first needed. */
const olderKept = 2
/** Bun is ended after this time; drafts twice as old are leftovers. */
const makingMsMax = 60_000

/** Without them Bun reads `bunfig.toml` (preloads) and `tsconfig.json` (paths) of the folder it is called in. */
const ownSettings = [
  `--config=${join(root, 'bin/bunfig.toml')}`,
  `--tsconfig-override=${join(root, 'bin/bun-tsconfig.json')}`,
]

/**
 * Flags that keep the working directory from changing the program: its `bunfig.toml`, `tsconfig.json` and `.env` are
 * not read, and Bun fetches no missing packages. A `.env` in the project's own folder is for the gateway and is read.
 */
export function bunFlags() {
  const file = join(root, '.env')
  return [...ownSettings, '--no-install', existsSync(file) ? `--env-file=${file}` : '--no-env-file']
}

/**
 * The file for Bun to run: in a package the program that it holds; else the bundle of what is in `src` now, made if it
 * is missing, or the sources themselves.
 */
export function programPath(bun) {
  if (!existsSync(source)) return join(packed, 'main.js')
  try {
    // From a folder elsewhere the packages are not found.
    if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink()) return source
    const bundle = join(folder, fingerprint(bun))
    if (!isWhole(bundle)) makeBundle(bun, bundle)
    markUsed(bundle)
    return join(bundle, 'main.js')
  } catch {
    // The folder cannot be written or the disk is full: the sources are the same program in a little more memory.
    return source
  }
}

/** Changes with every file that goes into the bundle, and with the Bun that makes it; not with places and times. */
function fingerprint(bun) {
  const files = ['src', 'rules', 'simulator'].flatMap(name =>
    readdirSync(join(root, name), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && !entry.name.endsWith('.test.ts'))
      .map(entry => join(entry.parentPath ?? entry.path, entry.name)),
  )
  const manifest = join(root, 'package.json')
  const others = [manifest, fileURLToPath(import.meta.url)]
  const { dependencies } = JSON.parse(readFileSync(manifest, 'utf8'))
  const hash = createHash('sha256').update(`${statSync(bun).size}\n`)
  // What is installed, not what the lock file wants: `npm ci` may come after a start.
  for (const file of [...files.sort(), ...others, ...Object.keys(dependencies).map(packageFile)]) {
    const content = existsSync(file) ? readFileSync(file) : ''
    hash.update(`${relative(root, file)} ${content.length}\n`).update(content)
  }
  return hash.digest('hex').slice(0, 16)
}

/** The `package.json` of a package, where modules of the project find it. */
function packageFile(name) {
  for (let place = root; ; place = dirname(place)) {
    const file = join(place, 'node_modules', name, 'package.json')
    if (existsSync(file) || place === dirname(place)) return file
  }
}

/** Whether all of its files are there with their recorded sizes: a full disk may have cut one. */
function isWhole(bundle) {
  try {
    const sizes = JSON.parse(readFileSync(join(bundle, sizesFile), 'utf8'))
    return (
      'main.js' in sizes && Object.entries(sizes).every(([name, bytes]) => statSync(join(bundle, name)).size === bytes)
    )
  } catch {
    return false
  }
}

/** Written under another name and renamed: a concurrent start, or one after a power cut, sees all of it or none. */
function makeBundle(bun, bundle) {
  // Not the process id: containers that share the folder may all have id 1.
  const draft = `${bundle}.${randomUUID()}`
  try {
    mkdirSync(draft, { recursive: true })
    joinModules(bun, draft)
    const names = readdirSync(draft)
    writeFileSync(
      join(draft, sizesFile),
      JSON.stringify(Object.fromEntries(names.map(name => [name, statSync(join(draft, name)).size]))),
    )
    for (const name of [...names, sizesFile]) sync(join(draft, name))
    // A source changed meanwhile: the bundle may mix the old program and the new one.
    if (basename(bundle) !== fingerprint(bun)) throw new Error('the sources change')
    publish(draft, bundle)
    removeOlder(bundle)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** Fills `draft` with the whole program: nothing of `node_modules` is needed to run it, but Bun. */
export function joinAll(bun, draft) {
  joinModules(bun, draft, [])
}

function joinModules(bun, draft, external = ['--external=gpt-tokenizer']) {
  const threads = readdirSync(join(root, 'src'), { recursive: true }).filter(name => name.endsWith('-worker.ts'))
  const entries = [source, ...threads.sort().map(name => join(root, 'src', name))]
  const options = [
    '--target=bun',
    '--splitting',
    '--sourcemap=linked',
    '--minify-whitespace',
    '--minify-syntax',
    // Its vocabularies take longer to join than all the rest; few starts need them.
    ...external,
  ]
  // What the environment says is read when the program runs, not when it is made: Bun would write NODE_ENV into it.
  const late = ['--env=disable', '--no-env-file', '--define=process.env.NODE_ENV:process.env.NODE_ENV']
  const words = [
    'build',
    ...ownSettings,
    ...entries,
    ...options,
    ...late,
    '--entry-naming=[name].[ext]',
    `--outdir=${draft}`,
  ]
  // Without BUN_OPTIONS, which is meant for the program: with --watch the build would never end.
  const env = { SystemRoot: process.env.SystemRoot }
  const { status } = spawnSync(bun, words, {
    cwd: root,
    env,
    stdio: 'ignore',
    timeout: makingMsMax,
    killSignal: 'SIGKILL',
  })
  if (status !== 0) throw new Error('Bun could not join the modules')
}

/** Gives the draft its name, unless another process has published the same bundle meanwhile. */
function publish(draft, bundle) {
  if (!isWhole(draft)) throw new Error('Bun joined something else')
  for (let attempt = 0; !isWhole(bundle); attempt++) {
    try {
      renameSync(draft, bundle)
    } catch (error) {
      // There is something else under the name: a broken bundle.
      if (attempt > 2) throw error
      if (!isWhole(bundle)) rmSync(bundle, { recursive: true, force: true })
    }
  }
}

function sync(file) {
  const descriptor = openSync(file, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** `removeOlder` keeps those that were used last. */
function markUsed(bundle) {
  try {
    utimesSync(bundle, new Date(), new Date())
  } catch {
    // Another user owns it.
  }
}

/** Removes old bundles and abandoned drafts, known by the form of their names. */
function removeOlder(bundle) {
  const changedMs = path => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const nowMs = changedMs(bundle)
  const names = readdirSync(folder)
  const bundles = names
    .filter(name => /^[0-9a-f]{16}$/.test(name))
    .map(name => join(folder, name))
    .filter(path => path !== bundle)
  const older = bundles.sort((one, other) => changedMs(other) - changedMs(one)).slice(olderKept)
  // Left by processes that were killed while they made one.
  const drafts = names.filter(name => /^[0-9a-f]{16}\.[0-9a-f-]+$/.test(name)).map(name => join(folder, name))
  const left = drafts.filter(path => Math.abs(nowMs - changedMs(path)) > 2 * makingMsMax)
  for (const path of [...older, ...left]) rmSync(path, { recursive: true, force: true })
}
