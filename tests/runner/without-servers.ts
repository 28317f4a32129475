/** An environment in which no test finds Postgres, Redis or a browser, on whatever machine it runs. */
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** Programs that tests look for and start. */
const hidden = /^(redis-server|initdb|postgres|pg_ctl|psql|chromium.*|espeak-ng|pocketsphinx.*)$/

/** Test files that use servers or browsers where they find them, by what they or their helpers name. */
export const namesServers = (file: string, text: string): boolean =>
  file.startsWith('tests/web/') ||
  /TEST_DATABASE_URL|TEST_REDIS_URL|redis-server|missingPrograms|web\/browser\.ts|audio-upstream/.test(text)

export interface HiddenServers {
  /** That of this process, without them. */
  readonly environment: Readonly<Record<string, string | undefined>>
  remove(): void
}

/** The path becomes one folder, with a link to every program of it but the servers. */
export function hideServers(): HiddenServers {
  const { TEST_DATABASE_URL: _database, TEST_REDIS_URL: _redis, PATH, ...others } = process.env
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-programs-'))
  const names = new Set<string>()
  for (const place of (PATH ?? '').split(delimiter).filter(one => existsSync(one)))
    for (const name of readdirSync(place).filter(one => !names.has(one) && !hidden.test(one))) {
      names.add(name)
      symlinkSync(join(place, name), join(folder, name))
    }
  return {
    environment: { ...others, PATH: folder, CHROMIUM_PATH: join(folder, 'chromium') },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
