// The program as one file. Loading some 450 modules one by one costs 6 MB of memory that stays and a third of the
// time of starting (docs/decisions/0008); joining them takes Bun a tenth of a second, once for every change of them.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, 'src/main.ts')
const folder = join(root, 'dist')
/** A gateway that runs still loads parts of the bundle it was started from when they are first needed. */
const olderKept = 2

/** The file for Bun to run: the bundle of what is in `src` now, made if it is missing, or the sources themselves. */
export function programPath(bun) {
  try {
    const bundle = join(folder, fingerprint(bun))
    if (!existsSync(join(bundle, 'main.js'))) makeBundle(bun, bundle)
    return join(bundle, 'main.js')
  } catch {
    // A folder that cannot be written, a disk that is full: the same program, in a little more memory.
    return source
  }
}

/** Changes with every file that goes into the bundle, and with the Bun that makes it. */
function fingerprint(bun) {
  const files = ['src', 'simulator'].flatMap(name =>
    readdirSync(join(root, name), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && !entry.name.endsWith('.test.ts'))
      .map(entry => join(entry.parentPath ?? entry.path, entry.name)),
  )
  const hash = createHash('sha256')
  for (const file of [...files.sort(), join(root, 'package.json'), join(root, 'package-lock.json'), bun, fileURLToPath(import.meta.url)]) {
    const { size, mtimeMs } = statSync(file)
    hash.update(`${file} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Under a name of its own first: who starts at the same time sees a whole bundle or none, after a power cut too. */
function makeBundle(bun, bundle) {
  const draft = `${bundle}.${process.pid}`
  const entries = [source, join(root, 'src/store/ledger-worker.ts'), join(root, 'src/lib/tokenizer-worker.ts')]
  try {
    mkdirSync(draft, { recursive: true })
    const options = ['--target=bun', '--splitting', '--sourcemap=linked', '--minify-whitespace', '--minify-syntax', '--external=gpt-tokenizer']
    const { status } = spawnSync(bun, ['build', ...entries, ...options, '--entry-naming=[name].[ext]', `--outdir=${draft}`], { cwd: root, stdio: 'ignore' })
    if (status !== 0) throw new Error('Bun could not join the modules')
    for (const name of readdirSync(draft)) sync(join(draft, name))
    // Where somebody else was first, his is as good.
    if (!existsSync(bundle)) renameSync(draft, bundle)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  removeOlder(bundle)
}

function sync(file) {
  const descriptor = openSync(file, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

function removeOlder(bundle) {
  const ageOf = path => -(statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  const older = readdirSync(folder).map(name => join(folder, name)).filter(path => path !== bundle)
  for (const path of older.sort((one, other) => ageOf(one) - ageOf(other)).slice(olderKept)) rmSync(path, { recursive: true, force: true })
}
