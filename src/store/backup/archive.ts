/**
 * The file of a backup: a tar archive in gzip, encrypted with age where that is wanted, so that `age -d`, `gunzip` and
 * `tar` open it without this program. Its first entry is `manifest.json`.
 */
import { createHash } from 'node:crypto'
import { closeSync, createReadStream, createWriteStream, mkdirSync, openSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable, Transform, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { syncPath } from './sync-path.ts'

/** One file of a backup. */
export interface ArchivedFile {
  /** With slashes: `journal/1.journal`. */
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

/** What a backup holds. */
export interface Manifest {
  readonly format: 1
  readonly program: string
  readonly made_at: string
  readonly database: 'sqlite' | 'postgres'
  /** The newest step of the database. */
  readonly migration: number
  readonly files: readonly ArchivedFile[]
}

/** How a backup is encrypted. */
export type BackupKey = { readonly passphrase: string } | { readonly recipient: string }
/** What opens an encrypted backup: its passphrase, or the identity of its recipient (`AGE-SECRET-KEY-1...`). */
export type BackupOpener = { readonly passphrase: string } | { readonly identity: string }

const manifestName = 'manifest.json'
const manifestBytesMax = 64 * 1024 * 1024
const ageMagic = Buffer.from('age-encryption.org/')
const gzipMagic = Buffer.from([0x1f, 0x8b])

/** Writes the files, which are in `folder`, durably to `path`, which must not be there. */
export async function writeArchive(
  path: string,
  {
    folder,
    manifest,
    key,
  }: { readonly folder: string; readonly manifest: Manifest; readonly key?: BackupKey | undefined },
): Promise<void> {
  const { pack } = await import('tar-stream')
  const archive = pack()
  const fill = async (): Promise<void> => {
    const content = Buffer.from(JSON.stringify(manifest, null, 2))
    await new Promise<void>((resolve, reject) => {
      archive.entry({ name: manifestName, mode: 0o600 }, content, error => (error ? reject(error) : resolve()))
    })
    for (const { name, bytes } of manifest.files) {
      const entry = archive.entry({ name, size: bytes, mode: 0o600 })
      await pipeline(createReadStream(join(folder, name)), entry as unknown as Writable)
    }
    archive.finalize()
  }
  const zipped = createGzip({ level: 6 })
  const filling = fill().catch((error: unknown) => void archive.destroy(error as Error))
  const packing = pipeline(archive as unknown as Readable, zipped)
  packing.catch(() => {})
  const content = key === undefined ? zipped : await encrypted(zipped, key)
  await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }))
  await Promise.all([packing, filling])
  syncPath(path)
  syncPath(dirname(path))
}

async function encrypted(source: Readable, key: BackupKey): Promise<Readable> {
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  if ('passphrase' in key) encrypter.setPassphrase(key.passphrase)
  else encrypter.addRecipient(key.recipient)
  return fromWeb(await encrypter.encrypt(toWeb(source)))
}

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>
const toWeb = (source: Readable): Bytes => Readable.toWeb(source) as unknown as Bytes
const fromWeb = (source: ReadableStream): Readable => Readable.fromWeb(source as never)

/**
 * Reads a backup whole and compares every file with its manifest. Writes the files into `into`, which is there; absent
 * = nothing is written. Throws an error that says what is wrong.
 */
export async function readArchive(
  path: string,
  { opener, into }: { readonly opener?: BackupOpener | undefined; readonly into?: string | undefined },
): Promise<Manifest> {
  const content = await decrypted(path, opener)
  const { extract } = await import('tar-stream')
  const entries = extract()
  const reading = pipeline(content, createGunzip(), entries as unknown as Writable)
  reading.catch(() => {})
  let manifest: Manifest | undefined
  const found = new Set<string>()
  try {
    for await (const entry of entries) {
      const { name } = entry.header
      if (!manifest) {
        if (name !== manifestName) throw damaged(path, 'it does not begin with its manifest')
        manifest = await manifestIn(entry as unknown as Readable, path)
        continue
      }
      const listed = manifest.files.find(file => file.name === name)
      if (!listed || found.has(name) || !isOwnName(name)) throw damaged(path, `it holds '${name}', which is not listed`)
      found.add(name)
      await takeFile(entry as unknown as Readable, { listed, path, into })
    }
    await reading
  } catch (error) {
    entries.destroy()
    throw error instanceof BackupError ? error : damaged(path, (error as Error).message)
  }
  const missing = manifest?.files.find(file => !found.has(file.name))
  if (!manifest || missing) throw damaged(path, missing ? `'${missing.name}' is missing` : 'it is empty')
  return manifest
}

/** What is wrong with a backup, for the person who wants to use it. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

const damaged = (path: string, why: string): BackupError =>
  new BackupError(`${path} is damaged, or no backup of this program: ${why}; use another one`)

/** Names lead nowhere else: a backup may come from a stranger. */
const isOwnName = (name: string): boolean => /^(journal\/)?[\w-][\w.-]*$/.test(name)

async function manifestIn(entry: Readable, path: string): Promise<Manifest> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of entry as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > manifestBytesMax) throw damaged(path, 'its manifest is too long')
    chunks.push(chunk)
  }
  const read = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Manifest
  if (read.format !== 1)
    throw new BackupError(`${path} was made by a newer program (${read.program}); restore it with that one`)
  return read
}

interface FileTaking {
  readonly listed: ArchivedFile
  readonly path: string
  readonly into: string | undefined
}

async function takeFile(entry: Readable, { listed, path, into }: FileTaking): Promise<void> {
  const hash = createHash('sha256')
  let bytes = 0
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
  })
  const target = into === undefined ? undefined : join(into, listed.name)
  if (target !== undefined) mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  const sink = target === undefined ? nowhere() : createWriteStream(target, { flags: 'wx', mode: 0o600 })
  await pipeline(entry, counted, sink)
  if (bytes !== listed.bytes || hash.digest('hex') !== listed.sha256)
    throw damaged(path, `'${listed.name}' is not what was backed up`)
  if (target !== undefined) syncPath(target)
}

const nowhere = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() })

async function decrypted(path: string, opener: BackupOpener | undefined): Promise<Readable> {
  const magic = beginningOf(path)
  if (magic.subarray(0, gzipMagic.length).equals(gzipMagic)) return createReadStream(path)
  if (!magic.equals(ageMagic)) throw damaged(path, 'it is neither a gzip nor an age file')
  if (opener === undefined)
    throw new BackupError(`${path} is encrypted; give its passphrase with --passphrase-file, or --identity-file`)
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  if ('passphrase' in opener) decrypter.addPassphrase(opener.passphrase)
  else decrypter.addIdentity(opener.identity)
  try {
    return fromWeb(await decrypter.decrypt(toWeb(createReadStream(path))))
  } catch (error) {
    throw new BackupError(`${path} does not open with this passphrase or identity: ${(error as Error).message}`)
  }
}

function beginningOf(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(ageMagic.length)
    return bytes.subarray(0, readSync(file, bytes))
  } finally {
    closeSync(file)
  }
}

/** A file as a manifest lists it. */
export async function listedFile(folder: string, name: string): Promise<ArchivedFile> {
  const hash = createHash('sha256')
  const path = join(folder, name)
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return { name, bytes: statSync(path).size, sha256: hash.digest('hex') }
}
