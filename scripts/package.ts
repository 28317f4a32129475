/**
 * `npm run package [-- DIR]`: the package that is installed where the gateway runs, in DIR (`build/package`). It holds
 * the program as one bundle with all that it imports, the built pages, its launcher and its documents, and depends on
 * Bun alone: an installation has 130 MB at most, of which Bun is 107. `npm pack` in DIR makes one file of it.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { joinAll } from '../bin/program.mjs'
import { ensureWeb } from '../bin/web.mjs'
import manifest from '../package.json' with { type: 'json' }

const root = join(import.meta.dir, '..')
const target = resolve(process.argv[2] ?? join(root, 'build/package'))
const marker = 'package.json'

/** Files and folders that go in as they are. */
const documents = ['LICENSE', 'NOTICE', 'README.md', 'CHANGELOG.md', 'docs', 'examples', 'deploy']
/** Not for users of a package: reasons of the code, pictures, and what needs the sources. */
const left = /^(decisions|pictures|Dockerfile.*|\.env)$/

function copy(name: string, leave = /^$/): void {
  cpSync(join(root, name), join(target, name), { recursive: true, filter: path => !leave.test(basename(path)) })
}

/** In place: what reads these files knows both forms (`lib/program-files.ts`). */
function compress(folder: string, names: RegExp): void {
  for (const name of readdirSync(folder).filter(one => names.test(one))) {
    const file = join(folder, name)
    writeFileSync(file, gzipSync(readFileSync(file), { level: 9 }))
  }
}

/** Removes what is there with `.gz`, which the gateway unpacks for a client that takes nothing compressed. */
function leaveCompressed(folder: string): void {
  const names = new Set(readdirSync(folder))
  for (const name of names) if (names.has(`${name}.gz`)) rmSync(join(folder, name))
}

/** The licences of what the bundle holds: MIT and the like ask for them wherever a copy goes. */
function licences(): string {
  return bundled
    .map(name => {
      const folder = join(root, 'node_modules', name)
      const files = readdirSync(folder).filter(file => /^(licen[cs]e|notice|copyright)/i.test(file))
      if (files.length === 0) throw new Error(`${name} has no licence file`)
      return `${name}\n\n${files.map(file => readFileSync(join(folder, file), 'utf8')).join('\n')}`
    })
    .join(`\n${'-'.repeat(80)}\n`)
}

/**
 * Leaves of the maps what leads a stack trace to a line: not the texts of the sources, nor where they lay. Maps of
 * vocabularies and of chunks that are mostly libraries go: they are large, and lead to few lines of ours.
 */
function shortenMaps(folder: string): void {
  for (const map of readdirSync(folder).filter(file => file.endsWith('.map'))) {
    const path = join(folder, map)
    const { sourcesContent: _, ...rest } = JSON.parse(readFileSync(path, 'utf8')) as {
      sources: string[]
      sourcesContent?: string[]
    }
    const sources = rest.sources.map(source => relative(root, resolve(folder, source)))
    writeFileSync(path, JSON.stringify({ ...rest, sources }))
    const libraries = sources.filter(source => source.includes('node_modules/'))
    if (libraries.length * 2 < sources.length) continue
    rmSync(path)
    const script = join(folder, map.slice(0, -'.map'.length))
    writeFileSync(script, readFileSync(script, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n'))
  }
}

const { bun, ...others } = manifest.dependencies
const bundled = Object.keys(others)

// Only what this script has made is replaced.
if (existsSync(target) && readdirSync(target).length > 0 && !existsSync(join(target, marker))) {
  console.error(`${target} is not empty and holds no package; name another folder`)
  process.exit(1)
}
rmSync(target, { recursive: true, force: true })
mkdirSync(join(target, 'program'), { recursive: true })
joinAll(process.execPath, join(target, 'program'))
shortenMaps(join(target, 'program'))
compress(join(target, 'program'), /^(swagger-ui-.*\.(js|css)|prices-.*\.json)$/)
cpSync(await ensureWeb(), join(target, 'program/web'), { recursive: true })
for (const folder of ['program/web', 'program/web/assets']) leaveCompressed(join(target, folder))
writeFileSync(join(target, 'program/LICENSES.txt'), licences())
copy('bin', /\.d\.m?ts$/)
for (const name of documents) copy(name, left)
// Read by editors: without its indentation it has half the size.
const schema = join(target, 'examples/modelgate.schema.json')
writeFileSync(schema, JSON.stringify(JSON.parse(readFileSync(schema, 'utf8'))))
const { name, version, description, license, type, engines, bin } = manifest
const published = { name, version, description, license, type, engines, bin, dependencies: { bun } }
writeFileSync(join(target, marker), `${JSON.stringify(published, null, 2)}\n`)
console.log(target)
