/** The files in deploy/ fit the program: paths, variables, flags. nginx and systemd read theirs where installed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Glob } from 'bun'
import { parse } from 'yaml'
import { readSettings } from '../../src/config/read-settings.ts'
import { parseFlags } from '../../src/cli/command.ts'
import { serve } from '../../src/cli/serve.ts'
import { providers } from '../../src/providers/index.ts'
import { localhostOnly } from '../support/network/certificates.ts'

const root = resolve(import.meta.dir, '../..')
const deployed = (name: string): string => readFileSync(join(root, 'deploy', name), 'utf8')
const sources = [...new Glob('{src,bin}/**/*.{ts,mjs}').scanSync(root)]
  .filter(file => !file.endsWith('.test.ts'))
  .map(file => readFileSync(join(root, file), 'utf8'))
  .join('\n')

let folder: string
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'modelgate-deploy-'))))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** An image of an exact version: not `latest`, and not one that moves with each minor version. */
const exactImage = /^[a-z]+:\d+\.\d+(\.\d+)?(-[a-z]+)*$/

interface Instruction {
  readonly name: string
  readonly rest: string
}

/** Instructions with their continued lines joined. */
function instructions(text: string): Instruction[] {
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
  return lines.filter(line => line !== '').map(line => ({ name: line.split(' ')[0]!, rest: line.replace(/^\S+ /, '') }))
}

test('Dockerfile: exact images, no install scripts, files that exist, a user without rights, the package made', () => {
  const all = instructions(deployed('Dockerfile'))
  const of = (name: string): string[] => all.filter(one => one.name === name).map(one => one.rest)
  for (const from of of('FROM')) expect(from.split(' ')[0]).toMatch(exactImage)
  for (const { name } of all)
    expect(name).toMatch(/^(FROM|WORKDIR|COPY|RUN|ENV|USER|VOLUME|EXPOSE|HEALTHCHECK|ENTRYPOINT|CMD)$/)
  const copied = of('COPY').filter(one => !one.startsWith('--from'))
  const kept = deployed('Dockerfile.dockerignore').split('\n')
  for (const file of copied.flatMap(one => one.split(' ').slice(0, -1))) {
    expect([file, existsSync(join(root, file))]).toEqual([file, true])
    expect(kept).toContain(`!${file}`)
  }
  expect(of('RUN').find(one => one.includes('npm ci'))).toContain('--ignore-scripts')
  expect(of('RUN').some(one => one.includes('scripts/package.ts'))).toBe(true)
  expect(of('USER')).toEqual(['node'])
  const last = all.map(one => one.name)
  expect(last.lastIndexOf('USER')).toBeGreaterThan(last.lastIndexOf('RUN'))
  const entry = JSON.parse(of('ENTRYPOINT')[0]!) as string[]
  expect(existsSync(join(root, entry[1]!.replace(/^node_modules\/modelgate\//, '')))).toBe(true)
  for (const [, name] of of('ENV')[0]!.matchAll(/(\w+)=/g)) if (name !== 'NODE_ENV') expect(sources).toContain(name!)
})

interface Service {
  readonly image: string
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly command?: readonly string[]
  readonly read_only?: boolean
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly depends_on?: Readonly<Record<string, unknown>>
}

test('compose.yaml: exact images, known variables, nothing open to the network, no secret in the file', () => {
  const file = parse(deployed('compose.yaml'), { merge: true }) as {
    services: Record<string, Service>
    volumes: Record<string, unknown>
  }
  const { gateway, postgres, redis } = file.services as Record<'gateway' | 'postgres' | 'redis', Service>
  const { volumes: _one, ports: _first, ...alike } = gateway
  const { volumes, ports, ...second } = file.services['gateway-2']!
  expect([second, ports, volumes!.includes('data-2:/data')]).toEqual([alike, ['127.0.0.1:4001:4000'], true])
  expect(gateway.environment).toHaveProperty('MODELGATE_ENCRYPTION_KEY')
  for (const { image } of [gateway, postgres, redis]) expect(image).toMatch(exactImage)
  expect(existsSync(resolve(root, 'deploy', gateway.build!.context, gateway.build!.dockerfile))).toBe(true)
  expect([gateway.read_only, Object.keys(gateway.depends_on!)]).toEqual([true, ['postgres', 'redis']])
  for (const name of Object.keys(gateway.environment!)) expect(sources).toMatch(new RegExp(`\\b${name}\\b`))
  const variables = [...deployed('compose.yaml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name!)
  const example = deployed('compose.env.example')
  for (const name of variables) expect(example).toMatch(new RegExp(`^${name}=$`, 'm'))
  expect(deployed('compose.yaml')).toContain("ports: ['127.0.0.1:4000:4000']")
  for (const volume of [gateway, postgres].flatMap(one => one.volumes ?? [])) {
    const from = volume.split(':')[0]!
    expect([from, from.startsWith('./') ? existsSync(join(root, 'deploy', from)) : from in file.volumes]).toEqual([
      from,
      true,
    ])
  }
  // The program knows the command.
  const [name, ...flags] = gateway.command!
  expect(name).toBe(serve.name)
  expect(parseFlags(serve, flags).flags.config).toBe('/etc/modelgate/config.yaml')
  const read = readSettings({ text: deployed('config.yaml'), file: 'deploy/config.yaml', environment: {}, providers })
  expect([read.mistakes, read.warnings]).toEqual([[], []])
})

const has = (program: string): boolean => Bun.which(program) !== null

test.skipIf(!has('nginx'))('nginx reads its file', () => {
  writeFileSync(join(folder, 'gateway.crt'), localhostOnly.cert)
  writeFileSync(join(folder, 'gateway.key'), localhostOnly.key)
  const server = deployed('nginx.conf').replaceAll('/etc/nginx/gateway', join(folder, 'gateway'))
  const config = join(folder, 'nginx.conf')
  const own = `pid ${folder}/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n`
  writeFileSync(config, `${own}client_body_temp_path ${folder}/body;\nproxy_temp_path ${folder}/proxy;\n${server}}\n`)
  const { exitCode, stderr } = Bun.spawnSync(['nginx', '-t', '-p', folder, '-c', config])
  expect([exitCode, stderr.toString()]).toEqual([0, expect.stringContaining('test is successful')])
  for (const wanted of [
    'proxy_buffering off',
    'proxy_next_upstream error;',
    'max_fails=0',
    'X-Forwarded-For $remote_addr',
  ])
    expect(server).toContain(wanted)
})

test('the unit starts what exists with flags that are known, as a user without rights', () => {
  const unit = deployed('modelgate.service')
  const [, started = ''] = /^ExecStart=\/usr\/bin\/node \/opt\/modelgate\/(.*)$/m.exec(unit)!
  const [file, command, ...rest] = started.split(' ')
  expect(existsSync(join(root, file!))).toBe(true)
  expect(command).toBe(serve.name)
  expect(parseFlags(serve, rest).flags.config).toBe('/etc/modelgate/config.yaml')
  const hardening = ['DynamicUser=yes', 'ProtectSystem=strict', 'NoNewPrivileges=yes', 'LimitCORE=0', 'MemoryMax=2G']
  for (const line of [...hardening, 'SystemCallFilter=@system-service', 'SystemCallFilter=~@privileged'])
    expect(unit).toContain(`\n${line}\n`)
  for (const [, name] of unit.matchAll(/^Environment=(\w+)=/gm)) expect(sources).toContain(name!)
})

test.skipIf(!has('systemd-analyze'))('systemd reads the unit', () => {
  const unit = join(folder, 'modelgate.service')
  // The program is not in its place on this machine.
  writeFileSync(unit, deployed('modelgate.service').replace('/usr/bin/node', '/bin/true'))
  const { exitCode, stderr } = Bun.spawnSync(['systemd-analyze', 'verify', '--man=no', unit])
  const about = stderr
    .toString()
    .split('\n')
    .filter(line => line.includes('modelgate.service'))
  expect([exitCode, about]).toEqual([0, []])
})

test('each file in deploy/ is named in docs/deploy.md', () => {
  const page = readFileSync(join(root, 'docs/deploy.md'), 'utf8')
  for (const file of ['Dockerfile', 'compose.yaml', 'compose.env.example', 'modelgate.service', 'nginx.conf'])
    expect(page).toContain(`deploy/${file}`)
})
