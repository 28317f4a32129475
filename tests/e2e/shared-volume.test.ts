/** A volume as Kubernetes mounts it with `fsGroup`: of root, with the group of the gateway, and files of others in it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gatewayProgram } from '../support/gateway-process.ts'

const [uid, gid] = [4141, 4242]
const setpriv = Bun.which('setpriv')
const isRoot = process.getuid?.() === 0
const canBeOther = isRoot && setpriv !== null
if (!canBeOther) console.log('skipped: a gateway of another user (needs root, and setpriv of util-linux)')

let place: string
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'modelgate-volume-'))
  chmodSync(place, 0o755)
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

/** Serves as the other user, until the log has these words. */
async function servesSaying(volume: string, words: string): Promise<void> {
  const log = join(place, `log-${Math.random()}`)
  const child = Bun.spawn(
    [
      ...[setpriv!, '--reuid', String(uid), '--regid', String(gid), '--clear-groups'],
      ...[join(place, 'program/bun'), '--no-install', '--no-env-file', join(place, 'program/main.js')],
      ...['serve', '--port', '0', '--data-dir', volume],
    ],
    {
      cwd: place,
      stdin: 'ignore',
      stdout: Bun.file(log),
      stderr: 'pipe',
      env: { MODELGATE_MASTER_KEY: `sk-${crypto.randomUUID()}`, MODELGATE_DISCOVER: '0', MODELGATE_DRAIN_MS: '0' },
    },
  )
  const logged = () => (existsSync(log) ? readFileSync(log, 'utf8') : '')
  let said = ''
  for await (const bytes of child.stderr) {
    said += new TextDecoder().decode(bytes)
    if (!said.includes('Modelgate serves')) continue
    for (const startMs = Date.now(); !logged().includes(words) && Date.now() - startMs < 20_000; ) await Bun.sleep(20)
    child.kill()
  }
  await child.exited
  expect([said, logged()]).toEqual([expect.stringContaining('Modelgate serves'), expect.stringContaining(words)])
}

/** The program where another user can read it: what lies in the folder of root is closed. */
function placeProgram(): void {
  const folder = join(place, 'program')
  if (existsSync(folder)) return
  mkdirSync(folder)
  cpSync(process.execPath, join(folder, 'bun'))
  if (gatewayProgram.endsWith('.js')) cpSync(dirname(gatewayProgram), folder, { recursive: true })
  else {
    const words = ['build', '--target=bun', '--splitting', gatewayProgram, `--outdir=${folder}`]
    const built = Bun.spawnSync([process.execPath, ...words])
    if (!built.success) throw new Error(built.stderr.toString())
  }
  chmodSync(folder, 0o755)
}

function volumeOf(mode: number, entries: readonly string[]): string {
  const volume = mkdtempSync(join(place, 'volume-'))
  for (const entry of entries) {
    if (entry.endsWith('/')) mkdirSync(join(volume, entry), { mode: 0o700 })
    else writeFileSync(join(volume, entry), 'of another program')
  }
  chownSync(volume, 0, gid)
  chmodSync(volume, mode)
  return volume
}

describe.if(canBeOther)('a volume of root is served by a stranger with its group', () => {
  const volumes: [number, string[], string][] = [
    [0o2775, ['lost+found/'], 'modelgate'],
    [0o2770, [], 'modelgate'],
    [0o2775, ['lost+found/', 'backup.tar', 'modelgate'], 'modelgate-data'],
  ]
  for (const [mode, entries, name] of volumes)
    test(`mode ${mode.toString(8)} with ${entries.join(', ') || 'nothing'} in it`, async () => {
      placeProgram()
      const volume = volumeOf(mode, entries)
      const used = join(volume, name)
      await servesSaying(volume, 'the gateway keeps its files in one of its own')
      const { uid: owner, mode: made } = statSync(used)
      expect([owner, made & 0o777, statSync(volume).mode & 0o7777]).toEqual([uid, 0o700, mode])
      expect(readdirSync(used)).toContain('modelgate.sqlite')
      expect(readdirSync(volume).sort()).toEqual([name, ...entries.map(one => one.replace('/', ''))].sort())
      // At every mount the group is given to what is there.
      chmodSync(used, 0o2770)
      await servesSaying(volume, 'it is for the user of the gateway alone now')
      expect(statSync(used).mode & 0o777).toBe(0o700)
    })
})
