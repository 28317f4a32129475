import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { runCommand } from './cli-fixture.ts'

const masterKey = 'sk-master-4fT9qL2vX8mB6nR1cW7yK3pZ5dH0gJ'

test('config print has the layout of the file, each source behind its value, and no secrets', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-print-'))
  const file = join(folder, 'config.yaml')
  const text = `model_list: []
litellm_settings: { num_retries: 4, cache: true, cache_params: { ttl: 60 } }
general_settings:
  master_key: os.environ/KEY
  alert_to_webhook_url: { budget_alerts: "https://hooks.example.com/planted" }
`
  writeFileSync(file, text)
  try {
    const run = (...flags: string[]) =>
      runCommand(['config', 'print', '--config', file, '--data-dir', folder, ...flags], { KEY: masterKey })
    const set = await run()
    expect([set.code, parse(set.out)]).toEqual([
      0,
      {
        general_settings: {
          master_key: '********',
          alert_to_webhook_url: { budget_alerts: 'https://hooks.example.com/********' },
        },
        router_settings: { num_retries: 4 },
        settings: { cache: true, cache_params: { ttl: 60 } },
      },
    ])
    const { out } = await run('--effective', '--sources', '--port', '5000')
    expect(out).toContain('# PORT=5000  # --port\n')
    expect(out).toContain(`  num_retries: 4  # ${file}:2\n`)
    expect(out).toContain(`  master_key: "********"  # ${file}:4 (os.environ/KEY)\n`)
    expect(out).toContain('  max_request_size_mb: 32  # default\n')
    expect((parse(out) as { settings: { cache_params: object } }).settings.cache_params).toMatchObject({
      scope: 'team',
    })
    writeFileSync(file, 'general_settings: { header_prefix: "NO" }')
    const refused = await run()
    expect([refused.code, refused.error]).toEqual([
      1,
      expect.stringContaining(`${file}:1:36 general_settings.header_prefix`),
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
