/** Every part with its states, for those who make pages: `/ui/_parts` of a development build. */
import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client.ts'
import { Badge, Tag } from '../components/badge.tsx'
import { BlockButton, BlockNote } from '../components/gateway/block-deployment.tsx'
import { Button } from '../components/button.tsx'
import { CodeBlock } from '../components/text/code-block.tsx'
import { Combobox, MultiCombobox } from '../components/forms/combobox.tsx'
import { Confirm, Dialog } from '../components/overlays/dialog.tsx'
import { Drawer } from '../components/overlays/drawer.tsx'
import { TextArea, TextField } from '../components/forms/field.tsx'
import { NumberField } from '../components/forms/number-field.tsx'
import { daysFrom } from '../lib/days.ts'
import { amounts } from '../lib/number-text.ts'
import { FilterBar } from '../components/filter-bar.tsx'
import { Histogram } from '../components/charts/histogram.tsx'
import { Id, Secret } from '../components/id.tsx'
import { LineChart } from '../components/charts/line-chart.tsx'
import { Markdown } from '../components/text/markdown.tsx'
import { Menu, MenuItem, MenuSeparator } from '../components/overlays/menu.tsx'
import { Meter } from '../components/charts/meter.tsx'
import { Page, Panel } from '../components/page.tsx'
import { Select } from '../components/forms/select.tsx'
import { StackedBars } from '../components/charts/stacked-bars.tsx'
import { EmptyState, ErrorState, Skeleton, SkeletonRows } from '../components/states.tsx'
import { Switch } from '../components/forms/switch.tsx'
import { Table } from '../components/table.tsx'
import { Tabs } from '../components/tabs.tsx'
import { TimeRange } from '../components/time-range.tsx'
import { toast } from '../components/overlays/toast.tsx'
import { Tooltip } from '../components/overlays/tooltip.tsx'
import { Ago, Duration, Money, Tokens } from '../components/values.tsx'
import { Waterfall } from '../components/charts/waterfall.tsx'
import { useSearchValue } from '../lib/address.ts'
import { formatMoney } from '../lib/format.ts'
import { parseFilter } from '../lib/filter.ts'
import { rangeOf, spanOf } from '../lib/time-range.ts'

const hourMs = 3_600_000
const startMs = Date.UTC(2026, 10, 23)
const choices = ['gpt-4.1-mini', 'claude-sonnet', 'gemini-flash'].map(name => ({ value: name, label: name }))

export default function PartsPage() {
  return (
    <Page title="Parts" action={<Button kind="primary">Create key</Button>}>
      <Buttons />
      <Inputs />
      <Floating />
      <Values />
      <Lists />
      <Pictures />
      <Texts />
      <States />
    </Page>
  )
}

function Row({ children }: { readonly children: ReactNode }) {
  return <div className="flex flex-wrap items-center gap-3">{children}</div>
}

function Buttons() {
  return (
    <Panel title="Button, Badge, Tag">
      <Row>
        <Button kind="primary" icon={<Plus size={16} aria-hidden />}>
          Primary
        </Button>
        <Button>Plain</Button>
        <Button kind="quiet">Quiet</Button>
        <Button kind="danger">Danger</Button>
        <Button busy>Busy</Button>
        <Button disabled>Disabled</Button>
        <Button icon={<Plus size={16} aria-hidden />} aria-label="Icon alone" />
      </Row>
      <Row>
        <Badge tone="good">Active</Badge>
        <Badge tone="warn">Expires soon</Badge>
        <Badge tone="bad">Blocked</Badge>
        <Badge tone="info">Cooling down</Badge>
        <Badge>Unknown</Badge>
        <Tag>config.yaml:12</Tag>
        <BlockButton id="parts" name="fast" isBlocked={false} />
        <BlockNote
          block={{ blocked: true, blocked_by: 'ada', blocked_at: '2026-11-23T03:00:00Z', blocked_reason: 'Timeouts' }}
        />
      </Row>
    </Panel>
  )
}

function Inputs() {
  const [text, setText] = useState('')
  const [number, setNumber] = useState<number | null>(20)
  const [model, setModel] = useState('gpt-4.1-mini')
  const [found, setFound] = useState<string | null>(null)
  const [several, setSeveral] = useState<string[]>(['claude-sonnet'])
  const [isOn, setOn] = useState(true)
  return (
    <Panel title="Field, Select, Combobox, Switch">
      <div className="grid gap-4 narrow:grid-cols-2">
        <TextField label="Name" help="Shown in lists" value={text} onChange={setText} />
        <TextField label="Name with an error" error="Another key has this name" value="ci-bot" onChange={setText} />
        <NumberField label="Budget" unit="USD" help="0 or more" range={amounts} value={number} onChange={setNumber} />
        <TextArea label="Note" value={text} onChange={setText} />
        <Select label="Model" choices={choices} value={model} onChange={setModel} />
        <Combobox label="Model, found by typing" choices={choices} value={found} onChange={setFound} />
        <MultiCombobox label="Models" choices={choices} value={several} onChange={setSeveral} />
        <Switch label="Live" help="New calls appear by themselves" checked={isOn} onChange={setOn} />
      </div>
    </Panel>
  )
}

function Floating() {
  const [open, setOpen] = useState<'dialog' | 'confirm' | 'drawer' | null>(null)
  const close = () => setOpen(null)
  return (
    <Panel title="Dialog, Drawer, Toast, Tooltip, Menu, Tabs">
      <Row>
        <Button onClick={() => setOpen('dialog')}>Open dialog</Button>
        <Button onClick={() => setOpen('confirm')}>Open confirmation</Button>
        <Button onClick={() => setOpen('drawer')}>Open drawer</Button>
        <Button onClick={() => toast('Key ci-bot deleted')}>Show toast</Button>
        <Button onClick={() => toast('Not deleted', { description: 'It has calls under way', kind: 'error' })}>
          Show error toast
        </Button>
        <Tooltip text="0.004212 USD">
          <Button>Hover</Button>
        </Tooltip>
        <Menu trigger={<Button>Menu</Button>}>
          <MenuItem onPress={() => {}}>Rotate</MenuItem>
          <MenuSeparator />
          <MenuItem isDanger onPress={() => {}}>
            Delete
          </MenuItem>
        </Menu>
      </Row>
      <Tabs
        label="Tabs"
        tabs={[
          { value: 'one', label: 'Messages', content: 'First' },
          { value: 'two', label: 'Raw', content: 'Second' },
        ]}
      />
      <Dialog
        open={open === 'dialog'}
        onClose={close}
        onSubmit={close}
        title="Create key"
        description="Up to five fields"
        actions={
          <Button kind="primary" type="submit">
            Create key
          </Button>
        }
      >
        <Inputs />
      </Dialog>
      <Confirm
        open={open === 'confirm'}
        onClose={close}
        onConfirm={close}
        typed="ci-bot"
        title="Delete key ci-bot"
        description="Clients that use it are refused at once. This cannot be undone."
        action="Delete key"
      />
      <Drawer open={open === 'drawer'} onClose={close} title="One call">
        Details
      </Drawer>
    </Panel>
  )
}

function Values() {
  return (
    <Panel title="Money, Tokens, Duration, Ago, Id, Secret, Meter">
      <Row>
        <Money usd={1234.5} /> <Money usd={0.0042} /> <Money usd={0.000_000_12} /> <Money usd={null} />
        <Tokens count={1234} /> <Duration milliseconds={340} /> <Duration milliseconds={200_000} />
        <Ago at={startMs} /> <Id id="0199e2aa-7b1c-7c4e-9d53-5b1f8a8a8a01" />
      </Row>
      <Secret secret="sk-4fT9qL2vX8mB6nR1cW7yK3pZ5dH0gJ" />
      <div className="grid gap-4 narrow:grid-cols-3">
        <Meter label="Budget" used={3} limit={10} format={formatMoney} resetsAt={startMs + 900 * hourMs} />
        <Meter
          label="Budget nearly spent"
          used={8.5}
          limit={10}
          format={formatMoney}
          reachedAt={startMs + 99 * hourMs}
        />
        <Meter label="Budget spent" used={12} limit={10} format={formatMoney} />
        <Meter label="No budget" used={12} limit={null} format={formatMoney} />
      </div>
    </Panel>
  )
}

const people = Array.from({ length: 240 }, (_, at) => ({ id: `user-${at}`, spend: at / 7, calls: at * 13 }))

function Lists() {
  const [filter, setFilter] = useSearchValue('filter', 'status:error')
  const [range, setRange] = useSearchValue('range', '24h')
  const [shown, setShown] = useState<string[] | undefined>(undefined)
  return (
    <Panel title="Table, FilterBar, TimeRange">
      <div className="flex flex-wrap gap-2">
        <FilterBar
          label="Filter calls"
          value={filter}
          onChange={setFilter}
          example="status:error model:gpt*"
          fields={[
            { name: 'status', about: 'how it ended', values: ['success', 'error', 'cut'] },
            { name: 'model', about: 'the public name' },
          ]}
        />
        <TimeRange value={range} onChange={setRange} />
      </div>
      <p className="text-muted">
        {parseFilter(filter)
          .map(term => `${term.name ?? 'text'} = ${term.value}`)
          .join(', ')}
      </p>
      <Table
        label="Users"
        rows={people}
        rowId={row => row.id}
        rowLink={row => ({ to: '.', search: { id: row.id } })}
        sort={{ by: 'spend', order: 'desc' }}
        onSort={() => {}}
        onMore={() => {}}
        shown={shown}
        onShown={setShown}
        columns={[
          { id: 'id', title: 'User', cell: row => row.id },
          { id: 'spend', title: 'Spend', align: 'end', isSortable: true, cell: row => <Money usd={row.spend} /> },
          { id: 'calls', title: 'Calls', align: 'end', isHidden: true, cell: row => row.calls },
        ]}
      />
      <Table label="Nothing" rows={[]} rowId={() => ''} columns={[]} empty={<EmptyState title="No calls yet" />} />
    </Panel>
  )
}

const timesMs = Array.from({ length: 48 }, (_, at) => startMs + at * hourMs)
const series = [
  { label: 'This week', values: timesMs.map((_, at) => 20 + 12 * Math.sin(at / 4)) },
  { label: 'The week before', values: timesMs.map((_, at) => 16 + 9 * Math.cos(at / 5)) },
]
const bars = timesMs.map((fromMs, at) => ({
  fromMs,
  toMs: fromMs + hourMs,
  count: 40 + ((at * 37) % 60),
  failed: at % 9,
}))

function Pictures() {
  const [range, setRange] = useState(rangeOf(spanOf('24h', startMs)))
  return (
    <Panel title="Histogram, LineChart, StackedBars, Waterfall">
      <Histogram bars={bars} onSelect={span => setRange(rangeOf(span))} />
      <TimeRange value={range} onChange={setRange} />
      <LineChart label="Spend" days={daysFrom('2026-11-23', timesMs.length)} series={series} format={formatMoney} />
      <StackedBars
        label="Spend by model"
        bars={timesMs.map((_, at) => String(at))}
        series={choices.map((one, at) => ({
          label: one.label,
          values: timesMs.map((__, bar) => (bar + 1) / (at + 1)),
        }))}
        format={formatMoney}
      />
      <Waterfall
        totalMs={2400}
        rows={[
          { name: 'a', label: 'azure-eu', startMs: 0, endMs: 700, tone: 'bad' },
          { name: 'b', label: 'openai-1', startMs: 720, endMs: 2400, tone: 'good' },
        ]}
      />
    </Panel>
  )
}

const text = `A **model's** answer with \`code\`, a [link](https://example.com) and <img src=x onerror=alert(1)> markup.

| a | b |
|---|---|
| 1 | 2 |

Formulas: $e^{i\\pi} + 1 = 0$ and \\(x_1 \\le \\hat{y}\\), which costs $5 and not $6.

\\[
\\begin{aligned}
\\int_0^1 x^2 \\,dx &= \\left. \\frac{x^3}{3} \\right|_0^1 \\\\
&= \\boxed{\\frac{1}{3}}
\\end{aligned}
\\]

\`\`\`ts
// Comment, keyword, number, text, name: every colour that code has.
const answer: number = ask("What is it?", 42)
\`\`\`

\`\`\`diff
- removed
+ added
\`\`\``

function Texts() {
  return (
    <Panel title="CodeBlock, Markdown">
      <CodeBlock
        label="First call"
        snippets={[
          { title: 'curl', code: 'curl http://localhost:4000/v1/models' },
          { title: 'Python', code: 'client = OpenAI(base_url="http://localhost:4000/v1")' },
        ]}
      />
      <Markdown text={text} />
    </Panel>
  )
}

function States() {
  return (
    <Panel title="EmptyState, ErrorState, Skeleton">
      <EmptyState title="No keys yet" action={<Button kind="primary">Create key</Button>}>
        A key lets a program call models.
      </EmptyState>
      {[0, 403, 404, 409, 422, 429, 500].map(status => (
        <ErrorState
          key={status}
          isInline
          error={
            new ApiError(`what the gateway said with ${status}`, { status, requestId: 'request-1234567890abcdef' })
          }
          onRetry={() => {}}
        />
      ))}
      <Skeleton />
      <SkeletonRows count={3} />
    </Panel>
  )
}
