import { Link } from '@tanstack/react-router'
import clsx from 'clsx'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { lazy, Suspense, useRef, useState } from 'react'
import type { CSSProperties, KeyboardEvent, ReactNode } from 'react'
import { untilLoaded } from '../lib/load-part.ts'
import { t } from '../strings/index.ts'
import { Button } from './button.tsx'
import { lazyPart } from './lazy-part.tsx'
import { SkeletonRows } from './states.tsx'

/** Its menu is larger than the table. */
const ColumnChooser = lazyPart(async () => (await import('./column-chooser.tsx')).ColumnChooser)

export interface Column<Row> {
  readonly id: string
  readonly title: string
  readonly cell: (row: Row) => ReactNode
  /** Of a grid: `minmax(120px, 2fr)`; absent = `minmax(0, 1fr)`. */
  readonly width?: string
  /** Numbers stand at the end. */
  readonly align?: 'end'
  /** The server can sort by it. */
  readonly isSortable?: boolean
  /** Only shown when chosen. */
  readonly isHidden?: boolean
  /** Left out below 720 px. */
  readonly isWideOnly?: boolean
}

export interface Sort {
  readonly by: string
  readonly order: 'asc' | 'desc'
}

export interface TableProps<Row> {
  /** What the rows are: "Keys". */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  /** undefined = on their way. */
  readonly rows: readonly Row[] | undefined
  readonly rowId: (row: Row) => string
  /** Where a row leads, as `to` of a Link: a drawer of its page keeps the search of the address; else undefined. */
  readonly rowLink?: (row: Row) => RowLink | undefined
  /** The id of the row that is open. */
  readonly openId?: string | null
  readonly sort?: Sort
  readonly onSort?: (sort: Sort) => void
  /** There are more; shows a button. */
  readonly onMore?: (() => void) | undefined
  readonly isLoadingMore?: boolean
  /** In the place of no rows. */
  readonly empty?: ReactNode
  /**
   * Ids of the columns that are shown, undefined = the usual ones, with the function that changes them: adds the
   * column chooser. The first column has the row's link and is always shown.
   */
  readonly shown?: readonly string[] | undefined
  readonly onShown?: (ids: string[] | undefined) => void
}

export interface RowLink {
  readonly to: string
  /** Replaces values of the address; undefined removes one. */
  readonly search?: Readonly<Record<string, string | undefined>>
}

/** Few lists are long. */
const LongRows = lazy(() => untilLoaded(() => import('./long-rows.tsx')))

/** Fewer rows are all drawn: then the browser's own search finds them. */
const virtualFrom = 100

/**
 * A list of rows: j and k or the arrows walk it, Enter opens one. Long ones draw only what is seen: that is why it is
 * a grid with the roles of a table.
 */
export function Table<Row>(props: TableProps<Row>) {
  const { label, rows, columns, shown, onShown, empty, onMore, isLoadingMore } = props
  const visible = columns.filter((column, at) => at === 0 || (shown ? shown.includes(column.id) : !column.isHidden))
  return (
    <div className="flex min-h-0 min-w-0 flex-col gap-2">
      {onShown && (
        <div className="flex min-h-8 justify-end touch:min-h-11">
          <ColumnChooser columns={columns} shown={shown} visible={visible.map(one => one.id)} onShown={onShown} />
        </div>
      )}
      {rows === undefined ? (
        <SkeletonRows />
      ) : rows.length === 0 ? (
        empty
      ) : (
        <Rows {...props} label={label} rows={rows} columns={visible} />
      )}
      {onMore && rows && rows.length > 0 && (
        <Button className="self-center" busy={isLoadingMore} onClick={onMore}>
          {t('all.more')}
        </Button>
      )}
    </div>
  )
}

const rowClass = 'grid grid-cols-(--narrow-columns) narrow:grid-cols-(--wide-columns)'

/** The widths of the columns on large and small screens, as variables that `rowClass` reads. */
function templateOf<Row>(columns: readonly Column<Row>[]): CSSProperties {
  const widths = (shown: readonly Column<Row>[]) => shown.map(one => one.width ?? 'minmax(0, 1fr)').join(' ')
  return {
    '--wide-columns': widths(columns),
    '--narrow-columns': widths(columns.filter(one => !one.isWideOnly)),
  } as CSSProperties
}

function Rows<Row>(props: TableProps<Row> & { readonly rows: readonly Row[] }) {
  const { label, rows, columns, rowId, sort, onSort } = props
  const scroller = useRef<HTMLDivElement>(null)
  const scrollTo = useRef<(index: number) => void>(null)
  const [at, setAt] = useState(0)
  const isLong = rows.length >= virtualFrom
  const template = templateOf(columns)
  const rowAt = (index: number, top?: number) => (
    <BodyRow
      key={rowId(rows[index]!)}
      {...props}
      row={rows[index]!}
      index={index}
      top={top}
      template={template}
      onFocus={() => setAt(index)}
    />
  )
  const all = (
    <div role="rowgroup" className="relative">
      {rows.map((_, index) => rowAt(index))}
    </div>
  )
  const walk = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key]
    if (step === undefined || isTyping(event.target)) return
    event.preventDefault()
    const next = Math.max(0, Math.min(rows.length - 1, at + step))
    setAt(next)
    scrollTo.current?.(next)
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-row="${next}"] a`)?.focus())
  }
  return (
    <div ref={scroller} className={clsx('overflow-auto', isLong && 'h-(--list)')}>
      <div role="table" aria-label={label} aria-rowcount={rows.length} onKeyDown={walk} className="min-w-fit">
        <HeadRow columns={columns} template={template} sort={sort} onSort={onSort} />
        {isLong ? (
          <Suspense fallback={all}>
            <LongRows count={rows.length} scroller={scroller} scrollTo={scrollTo} rowAt={rowAt} />
          </Suspense>
        ) : (
          all
        )}
      </div>
    </div>
  )
}

interface HeadRowProps<Row> {
  readonly columns: readonly Column<Row>[]
  readonly template: CSSProperties
  readonly sort: Sort | undefined
  readonly onSort: ((sort: Sort) => void) | undefined
}

function HeadRow<Row>({ columns, template, sort, onSort }: HeadRowProps<Row>) {
  return (
    <div role="rowgroup" className="sticky top-0 z-10 bg-bg">
      <div role="row" className={clsx(rowClass, 'border-b border-line-strong')} style={template}>
        {columns.map(column => {
          const isSorted = sort?.by === column.id
          return (
            <div
              key={column.id}
              role="columnheader"
              aria-sort={isSorted ? (sort.order === 'asc' ? 'ascending' : 'descending') : undefined}
              className={cellClass(column, 'min-h-8 font-medium text-muted')}
            >
              {column.isSortable && onSort ? (
                <button
                  type="button"
                  className="inline-flex touch:min-h-11 touch:min-w-11 items-center gap-1"
                  aria-label={t('table.sortBy', { column: column.title })}
                  onClick={() => onSort({ by: column.id, order: isSorted && sort.order === 'desc' ? 'asc' : 'desc' })}
                >
                  {column.title}
                  {isSorted && (sort.order === 'asc' ? <ArrowUp size={12} /> : <ArrowDown size={12} />)}
                </button>
              ) : (
                column.title
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

interface BodyRowProps<Row> extends TableProps<Row> {
  readonly row: Row
  readonly index: number
  /** Pixels from the top of the list; undefined = in the flow. */
  readonly top: number | undefined
  readonly template: CSSProperties
  readonly onFocus: () => void
}

function BodyRow<Row>({ row, index, top, template, columns, rowId, rowLink, openId, onFocus }: BodyRowProps<Row>) {
  const link = rowLink?.(row)
  const name = columns[0]?.cell(row)
  return (
    <div
      role="row"
      data-row={index}
      aria-rowindex={index + 1}
      onFocus={onFocus}
      className={clsx(
        rowClass,
        'min-h-9 touch:min-h-11 border-b border-line hover:bg-hover',
        openId === rowId(row) && 'bg-selected',
        top === undefined ? 'relative' : 'absolute inset-x-0 h-9 touch:h-11',
      )}
      style={{ ...template, ...(top !== undefined && { transform: `translateY(${top}px)` }) }}
    >
      {columns.map((column, at) => (
        <div key={column.id} role="cell" dir="auto" className={cellClass(column, 'min-h-9')}>
          {at === 0 && link ? (
            <Link
              to={link.to}
              search={(before: Record<string, unknown>) => ({ ...before, ...link.search })}
              title={typeof name === 'string' ? name : undefined}
              // The whole row can be pressed; buttons in other cells are above it.
              className="min-w-0 truncate font-medium after:absolute after:inset-0 hover:underline"
            >
              {name}
            </Link>
          ) : (
            <Content of={column.cell(row)} />
          )}
        </div>
      ))}
    </div>
  )
}

/** A text that is longer than its column is wide is cut, and whole where it is pointed at. */
function Content({ of }: { readonly of: ReactNode }) {
  if (typeof of !== 'string') return of
  return (
    <span className="min-w-0 truncate" title={of}>
      {of}
    </span>
  )
}

function cellClass<Row>({ align, isWideOnly }: Column<Row>, more: string): string {
  return clsx(
    'flex min-w-0 items-center gap-2 px-3 py-1 [&>button]:relative',
    align === 'end' && 'numbers justify-end text-right',
    isWideOnly && 'max-narrow:hidden',
    more,
  )
}

/** true = letters go into a field. */
function isTyping(target: EventTarget): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}
