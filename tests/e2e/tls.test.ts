/** The gateway's own TLS: the same server under a certificate, which is read again when its files change. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Secret } from '../../src/lib/secret.ts'
import { startServer } from '../../src/app/index.ts'
import type { TlsFiles } from '../../src/config/serve-options.ts'
import type { RunningServer } from '../../src/config/serve-options.ts'
import { runCommand } from '../../src/cli/cli-fixture.ts'

const openssl = Bun.which('openssl')
if (openssl === null) console.log('skipped: TLS of the gateway (install openssl, which makes its certificates)')
const masterKey = 'sk-of-the-tests-of-tls-0123456789abcdef'

describe.if(openssl !== null)('TLS', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'modelgate-tls-'))
    for (const name of ['first', 'second', 'client']) makePair(name)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const cert = (name: string) => join(folder, `${name}.pem`)
  const key = (name: string) => join(folder, `${name}.key`)

  function makePair(name: string): void {
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    const about = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '30']
    const words = ['req', '-x509', ...curve, ...about, '-keyout', key(name), '-out', cert(name)]
    const made = Bun.spawnSync([openssl!, ...words], { stderr: 'pipe' })
    if (!made.success) throw new Error(made.stderr.toString())
  }

  const serve = (tls: TlsFiles): Promise<RunningServer> => {
    const dataDirectory = mkdtempSync(join(folder, 'data-'))
    return startServer({
      host: '127.0.0.1',
      port: 0,
      tls,
      dataDirectory,
      databaseUrl: `sqlite:${join(dataDirectory, 'modelgate.sqlite')}`,
      masterKey: new Secret(masterKey),
      environment: { MODELGATE_LOG_LEVEL: 'off', MODELGATE_DRAIN_MS: '0', MODELGATE_DISCOVER: '0' },
    })
  }

  const ask = (server: RunningServer, tls: object, init: RequestInit = {}) =>
    fetch(`${server.url}v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${masterKey}`, connection: 'close' },
      body: JSON.stringify({
        model: 'local/simulated-chat',
        stream: true,
        messages: [{ role: 'user', content: 'x'.repeat(300_000) }],
      }),
      tls,
      ...init,
    } as RequestInit)

  test('a stream and a large body go over it; a new certificate is shown to new connections, without a restart', async () => {
    const [certFile, keyFile] = [join(folder, 'used.pem'), join(folder, 'used.key')]
    copyFileSync(cert('first'), certFile)
    copyFileSync(key('first'), keyFile)
    const server = await serve({ certFile, keyFile })
    const [first, second] = ['first', 'second'].map(name => ({ ca: readFileSync(cert(name), 'utf8') }))
    try {
      expect(server.url).toStartWith('https://127.0.0.1:')
      const answer = await ask(server, first!)
      expect([answer.status, (await answer.text()).endsWith('data: [DONE]\n\n')]).toEqual([200, true])
      expect(ask(server, second!)).rejects.toThrow()
      // The files are written one after the other: in between they do not fit, and nothing changes.
      copyFileSync(cert('second'), certFile)
      await Bun.sleep(2500)
      expect((await ask(server, first!)).status).toBe(200)
      copyFileSync(key('second'), keyFile)
      const renewed = async () => (await ask(server, second!).catch(() => undefined))?.status
      let status: number | undefined
      for (let turn = 0; turn < 100 && status !== 200; turn++) {
        await Bun.sleep(100)
        status = await renewed()
      }
      expect(status).toBe(200)
      expect(ask(server, first!)).rejects.toThrow()
    } finally {
      await server.stop()
    }
  }, 60_000)

  test('with an authority for clients only those with its certificates are served', async () => {
    const server = await serve({ certFile: cert('first'), keyFile: key('first'), clientCaFile: cert('client') })
    const ca = readFileSync(cert('first'), 'utf8')
    const of = (name: string) => ({ ca, cert: readFileSync(cert(name), 'utf8'), key: readFileSync(key(name), 'utf8') })
    try {
      const answer = await ask(server, of('client'))
      await answer.text()
      expect(answer.status).toBe(200)
      for (const tls of [{ ca }, of('second')])
        expect(
          await ask(server, tls).then(
            () => 'served',
            () => 'refused',
          ),
        ).toBe('refused')
    } finally {
      await server.stop()
    }
  }, 60_000)

  test('files that do not fit are named before anything is served', async () => {
    writeFileSync(join(folder, 'junk.pem'), 'junk')
    const wrong = async (files: TlsFiles) =>
      serve(files).then(
        () => 'served',
        (error: Error) => error.message,
      )
    expect(await wrong({ certFile: cert('first'), keyFile: key('second') })).toContain(
      'is not the key of the certificate',
    )
    expect(await wrong({ certFile: join(folder, 'junk.pem'), keyFile: key('first') })).toContain(
      'holds no certificate in PEM',
    )
    expect(await wrong({ certFile: cert('first'), keyFile: join(folder, 'none') })).toContain('cannot be read')
    const half = await runCommand(['serve', '--tls-cert', cert('first')], {})
    expect([half.code, half.error]).toEqual([2, expect.stringContaining('--tls-cert and --tls-key need each other')])
  }, 60_000)
})
