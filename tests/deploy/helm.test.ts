/** The chart: what it may be given, what it makes of ten value files, and the schemas of Kubernetes that this fits. */
import { describe, expect, test } from 'bun:test'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'

const root = join(import.meta.dir, '../..')
const chart = join(root, 'deploy/helm/modelgate')
const read = (name: string): string => readFileSync(join(chart, name), 'utf8')
const templates = readdirSync(join(chart, 'templates'))
const valueFiles = readdirSync(join(chart, 'ci'))
type Json = Record<string, unknown>
const values = parse(read('values.yaml')) as Json

/** Maps whose keys the user chooses. */
const open =
  /^(config|service\.annotations|ingress\.annotations|nodeSelector|affinity|podAnnotations|podLabels|serviceAccount\.annotations|resources|probes|podSecurityContext|securityContext|.*\.labels)$/

function pathsOf(value: unknown, path = ''): string[] {
  const isOpen = typeof value !== 'object' || value === null || Array.isArray(value) || open.test(path)
  if (isOpen) return [path]
  return Object.entries(value).flatMap(([name, one]) => pathsOf(one, path === '' ? name : `${path}.${name}`))
}

test('templates name values that exist, and every value is used', () => {
  const text = templates.map(name => read(`templates/${name}`)).join('\n')
  const named = new Set([...text.matchAll(/\.Values\.([A-Za-z.]+)/g)].map(([, path]) => path!.replace(/\.$/, '')))
  const known = pathsOf(values)
  const isKnown = (path: string) =>
    known.some(one => one === path || one.startsWith(`${path}.`) || path.startsWith(`${one}.`))
  expect([...named].filter(path => !isKnown(path))).toEqual([])
  const isUsed = (path: string) =>
    [...named].some(one => one === path || path.startsWith(`${one}.`) || one.startsWith(`${path}.`))
  expect(known.filter(path => !isUsed(path))).toEqual([])
})

test('ten value files set what exists', () => {
  expect(valueFiles).toHaveLength(10)
  const known = pathsOf(values)
  for (const file of valueFiles)
    expect([
      file,
      pathsOf(parse(read(`ci/${file}`))).filter(path => !known.includes(path) && !open.test(path)),
    ]).toEqual([file, []])
})

test('the chart carries the alert rules as they stand', () => {
  expect(read('files/prometheus-rules.yaml')).toBe(readFileSync(join(root, 'deploy/prometheus-rules.yaml'), 'utf8'))
})

const helm = Bun.which('helm')
if (helm === null) console.log('skipped: helm is not on PATH, the chart is not rendered')
const rendered = helm === null ? describe.skip : describe

function render(file: string, ...more: string[]) {
  const given = ['template', 'gw', chart, '--kube-version', '1.31.0', '-f', join(chart, 'ci', file), ...more]
  const { exitCode, stdout, stderr } = Bun.spawnSync([helm!, ...given])
  return { exitCode, problem: stderr.toString(), objects: exitCode === 0 ? objectsIn(stdout.toString()) : [] }
}

interface Rendered extends Json {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: Json
}
const objectsIn = (text: string): Rendered[] =>
  parseAllDocuments(text).flatMap(document => (document.toJSON() as Rendered | null) ?? [])

/** The schema of Kubernetes, as the package `kubernetes-models` has it of each kind. */
async function validate(object: Rendered): Promise<void> {
  // Kinds of the Prometheus operator are not Kubernetes' own.
  if (object.apiVersion.startsWith('monitoring.coreos.com/')) return
  const module = (await import(`kubernetes-models/${object.apiVersion}/${object.kind}`)) as Record<
    string,
    new (
      data: object,
    ) => { validate(): void }
  >
  new module[object.kind]!(object).validate()
}

rendered('rendered', () => {
  for (const file of valueFiles)
    test(`${file} fits the schemas of Kubernetes`, async () => {
      const { exitCode, problem, objects } = render(file)
      expect([exitCode, problem]).toEqual([0, ''])
      for (const object of objects) await validate(object)
      expect(new Set(objects.map(one => `${one.kind} ${one.metadata.name}`)).size).toBe(objects.length)
    })

  const one = (file: string, kind: string) => render(file).objects.find(object => object.kind === kind)!
  interface Pod {
    readonly securityContext: Json
    readonly containers: readonly [Json & { env: { name: string; value?: string }[]; volumeMounts: Json[] }]
    readonly volumes: readonly (Json & { name: string })[]
  }
  const podOf = (object: Rendered) => (object.spec.template as { spec: Pod }).spec

  test('pods write nowhere but to their data directory and /tmp, as no root, and are asked how they are', () => {
    const pod = podOf(one('01-postgres.yaml', 'Deployment'))
    const [container] = pod.containers
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, fsGroup: 1000 })
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false })
    expect(container.readinessProbe).toMatchObject({ httpGet: { path: '/health/readiness' } })
    expect(container.livenessProbe).toMatchObject({ httpGet: { path: '/health/liveness' } })
    expect(container.volumeMounts.map(mount => mount.mountPath)).toEqual(['/data', '/tmp', '/etc/modelgate'])
    // Calls get what is left of the time that Kubernetes waits before it kills.
    const drain = Object.fromEntries(container.env.map(({ name, value }) => [name, value]))
    expect([drain.MODELGATE_DRAIN_DELAY_MS, drain.MODELGATE_DRAIN_MS]).toEqual(['5000', '45000'])
  })

  test('a volume for the journal makes a StatefulSet, and none a Deployment with emptyDir', () => {
    const set = one('03-volumes.yaml', 'StatefulSet')
    expect(set.spec.volumeClaimTemplates).toMatchObject([
      { metadata: { name: 'data' }, spec: { storageClassName: 'fast', resources: { requests: { storage: '50Gi' } } } },
    ])
    expect(podOf(set).volumes.map(volume => volume.name)).toEqual(['tmp', 'config'])
    expect(podOf(one('01-postgres.yaml', 'Deployment')).volumes.find(volume => volume.name === 'data')).toMatchObject({
      emptyDir: { sizeLimit: '5Gi' },
    })
  })

  test('the database is migrated before pods are replaced, and not where there is only SQLite', () => {
    expect(one('01-postgres.yaml', 'Job').metadata).toMatchObject({
      annotations: { 'helm.sh/hook': 'pre-install,pre-upgrade' },
    })
    expect(one('02-sqlite.yaml', 'Job')).toBeUndefined()
  })

  test('what cannot work is refused with what to set', () => {
    const refused = (...set: string[]) => render('10-plain.yaml', ...set.flatMap(value => ['--set', value])).problem
    expect(refused('redis.existingSecret=')).toContain('more than one replica needs Redis')
    expect(refused('database.existingSecret=')).toContain('more than one replica needs Postgres')
    expect(refused('database.existingSecret=', 'replicaCount=1')).toContain('set persistence.enabled')
    expect(refused('terminationGracePeriodSeconds=12')).toContain('must be longer than drainDelayMs')
  })

  test('streams pass the ingress unbuffered, for as long as they last', () => {
    const { annotations } = one('05-ingress.yaml', 'Ingress').metadata as unknown as { annotations: Json }
    expect(annotations).toMatchObject({
      'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
      'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
    })
  })
})
