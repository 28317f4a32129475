import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { Play, Plus, Square } from 'lucide-react'
import { useEffect, useState } from 'react'
import { bodiesQuery, callQuery } from '../api/calls.ts'
import { useModelGroups } from '../api/model-groups.ts'
import type { SpendLog } from '../api/schema.d.ts'
import { Button } from '../components/button.tsx'
import { Page, Panel } from '../components/page.tsx'
import { goToUnreadable } from '../components/forms/form.tsx'
import { Select } from '../components/forms/select.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../components/states.tsx'
import { Switch } from '../components/forms/switch.tsx'
import { useChangeSearch } from '../lib/address.ts'
import type { SearchValues } from '../lib/address.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './playground.page.ts'
import { replayOf } from './logs/call-messages.ts'
import { ColumnView } from './playground/column.tsx'
import { columnsMax, readColumns, writeColumns } from './playground/columns.ts'
import type { Column } from './playground/columns.ts'
import { InputView } from './playground/input.tsx'
import { operationNames, operationOf, operationOfRoute, requestOf } from './playground/operations.ts'
import type { Body, Input, OperationName } from './playground/operations.ts'
import { useRuns } from './playground/use-runs.ts'

const noColumn: Column = { model: '', parameters: {} }
const noInput: Input = { system: '', text: '', documents: '', file: null }

/** A body of the person's own; its error, where it is none. */
function readBody(json: string): { readonly body?: Body; readonly error: string | null } {
  try {
    const body: unknown = JSON.parse(json)
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return { body: body as Body, error: null }
  } catch {
    // Said below, as for JSON that is no object.
  }
  return { error: t('playground.noJson') }
}

/** The request of a call from the logs without what each column has of its own, as far as it is stored. */
function useStoredRequest(id: string | undefined, call: SpendLog | null | undefined) {
  const bodies = useQuery({ ...bodiesQuery(id ?? '', call?.duration_ms), enabled: Boolean(id) })
  const replay = call && bodies.data ? replayOf(call, bodies.data) : undefined
  const { model: _, stream: __, stream_options: ___, ...body } = replay?.body ?? {}
  return {
    isPending: Boolean(id) && bodies.isPending,
    isCut: bodies.data?.request?.cut ?? false,
    isThere: replay !== undefined,
    json: replay && JSON.stringify(body, undefined, 2),
    name: replay?.name,
  }
}

/** What the page asks, from its address and fields, and what its buttons do. */
function usePlayground() {
  const search: SearchValues = useSearch({ strict: false })
  const change = useChangeSearch()
  const models = useModelGroups()
  const replayed = useQuery({ ...callQuery(search.call ?? ''), enabled: Boolean(search.call) })
  const [input, setInput] = useState(noInput)
  const [json, setJson] = useState<string | null>(null)
  const stored = useStoredRequest(search.call, replayed.data)
  useEffect(() => {
    if (stored.json !== undefined) setJson(stored.json)
  }, [stored.json])
  const calls = useRuns()
  const name = chosenOperation(search.op, stored.name, replayed.data)
  const operation = operationOf(name)
  const names = models.data
    ?.filter(one => one.mode === null || operation.modes.includes(one.mode))
    .map(one => one.model_group)
  const columns = readColumns(search).map((one, at) => ({
    ...one,
    model: one.model || (at === 0 && replayed.data?.model) || names?.[at] || names?.[0] || '',
  }))
  const isStream = operation.event !== undefined && search.stream !== 'off'
  const own = json === null ? { body: operation.body(input), error: null } : readBody(json)
  const requestFor = ({ model, parameters }: Column) =>
    own.body && requestOf(operation, { body: own.body, model, parameters, isStream })
  const isReady = own.body !== undefined && (json !== null || isFilled(operation.fields, input))
  const runAll = () => {
    if (!isReady || calls.isRunning || goToUnreadable(document)) return
    columns.forEach((column, at) => {
      const body = requestFor(column)
      if (body && column.model !== '') void calls.start(at, { operation, body, file: input.file, isStream })
    })
  }
  const setColumns = (changed: readonly Column[]) => change(writeColumns(changed))
  const setOperation = (op: OperationName) => {
    calls.clear()
    setJson(null)
    // Models and parameters are those of another kind of call.
    change({ ...writeColumns(columns.map(() => noColumn)), op, call: undefined })
  }
  const setStream = (isOn: boolean) => change({ stream: isOn ? undefined : 'off' })
  return {
    ...{ models, names, replayed, input, setInput, json, setJson, jsonError: own.error, calls, name, operation },
    ...{ columns, setColumns, isStream, setStream, requestFor, isReady, runAll, setOperation },
    isReplay: Boolean(search.call),
    stored,
  }
}

type Playground = ReturnType<typeof usePlayground>

/** Asks up to four models the same, side by side. Every call is an ordinary one of the person who is signed in. */
export default function PlaygroundPage() {
  const playground = usePlayground()
  const { models, names, replayed, operation, jsonError } = playground
  return (
    <Page
      title={textOf(page.title)}
      action={<RunButton playground={playground} />}
      filters={<Filters playground={playground} />}
    >
      {playground.isReplay && replayed.isSuccess && !playground.stored.isPending && (
        <ReplayNotice call={replayed.data} stored={playground.stored} />
      )}
      {replayed.isError && <ErrorState error={replayed.error} isInline onRetry={() => void replayed.refetch()} />}
      <Panel>
        <InputView
          operation={operation}
          input={playground.input}
          onInput={playground.setInput}
          json={playground.json}
          jsonError={jsonError}
          onJson={playground.setJson}
          onRun={playground.runAll}
        />
      </Panel>
      {models.isPending && <SkeletonRows count={3} />}
      {models.isError && <ErrorState error={models.error} onRetry={() => void models.refetch()} />}
      {names?.length === 0 && (
        <EmptyState title={t('playground.noModels', { kind: t(operation.title) })}>
          {t('playground.noModelsHelp')}
        </EmptyState>
      )}
      {names && names.length > 0 && <Columns playground={playground} names={names} />}
    </Page>
  )
}

function Filters({ playground }: { readonly playground: Playground }) {
  const { name, operation, columns, isStream } = playground
  return (
    <>
      <Select
        isCompact
        label={t('playground.operation')}
        choices={operationNames.map(value => ({ value, label: t(operationOf(value).title) }))}
        value={name}
        onChange={playground.setOperation}
      />
      {operation.event && <Switch label={t('playground.stream')} checked={isStream} onChange={playground.setStream} />}
      {columns.length < columnsMax && (
        <Button icon={<Plus size={16} aria-hidden />} onClick={() => playground.setColumns([...columns, noColumn])}>
          {t('playground.add')}
        </Button>
      )}
    </>
  )
}

function RunButton({ playground }: { readonly playground: Playground }) {
  const { calls, columns, isReady, names, runAll } = playground
  if (calls.isRunning)
    return (
      <Button
        data-primary
        icon={<Square size={16} aria-hidden />}
        onClick={() => columns.forEach((_, at) => calls.stop(at))}
      >
        {t('playground.stop')}
      </Button>
    )
  return (
    <Button
      kind="primary"
      data-primary
      icon={<Play size={16} aria-hidden />}
      disabled={!isReady || !names?.length}
      onClick={runAll}
    >
      {t('playground.run')}
    </Button>
  )
}

function Columns({ playground, names }: { readonly playground: Playground; readonly names: readonly string[] }) {
  const { columns, setColumns, calls, requestFor } = playground
  const remove = (at: number) => {
    calls.remove(at)
    setColumns(columns.toSpliced(at, 1))
  }
  return (
    <div className={`grid gap-4 ${widths[columns.length - 1]}`}>
      {columns.map((column, at) => (
        <ColumnView
          // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
          key={at}
          number={at + 1}
          name={playground.name}
          models={names}
          column={column}
          body={requestFor(column)}
          fileName={playground.input.file?.name ?? 'speech.wav'}
          run={calls.runs[at]}
          onChange={changed => setColumns(columns.with(at, changed))}
          onStop={() => calls.stop(at)}
          onRemove={columns.length > 1 ? () => remove(at) : undefined}
        />
      ))}
    </div>
  )
}

const widths = ['', 'narrow:grid-cols-2', 'narrow:grid-cols-2 wide:grid-cols-3', 'narrow:grid-cols-2 wide:grid-cols-4']

function chosenOperation(
  wanted: string | undefined,
  stored: OperationName | undefined,
  replayed: SpendLog | null | undefined,
): OperationName {
  const operation = operationNames.find(one => one === wanted)
  return operation ?? stored ?? (replayed && operationOfRoute(replayed.route)) ?? 'chat'
}

const isFilled = (fields: readonly (keyof Input)[], input: Input): boolean =>
  fields.every(field => field === 'system' || (field === 'file' ? input.file !== null : input[field] !== ''))

interface ReplayProps {
  readonly call: SpendLog | null
  readonly stored: { readonly isThere: boolean; readonly isCut: boolean }
}

/** What is known of the call: its model and kind, and its request where it is stored whole. */
function ReplayNotice({ call, stored }: ReplayProps) {
  const said = stored.isThere ? 'playground.replayFilled' : stored.isCut ? 'playground.replayCut' : 'playground.replay'
  return (
    <p className="border-l-2 border-accent pl-3 text-muted">
      {call ? t(said, { model: call.model, route: call.route }) : t('playground.replayGone')}
    </p>
  )
}
