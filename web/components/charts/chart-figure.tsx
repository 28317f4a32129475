import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { t } from '../../strings/index.ts'
import { Button } from '../button.tsx'
import type { RowLink } from '../table.tsx'

interface ValueTableProps {
  readonly label: string
  /** What the values of each row are of, from the left of the picture on. */
  readonly rows: readonly { readonly id: string | number; readonly name: string; readonly link?: RowLink | undefined }[]
  /** A value for each row; null = none. */
  readonly columns: readonly { readonly label: string; readonly values: readonly (number | null | undefined)[] }[]
  readonly format: (value: number) => string
}

/** A chart as a picture (`children`), or as the table that says the same. */
export function ChartFigure({ children, ...table }: ValueTableProps & { readonly children: ReactNode }) {
  const [isTable, setTable] = useState(false)
  return (
    <figure className="flex flex-col gap-3">
      <figcaption className="flex items-center justify-between gap-2">
        <span className="font-medium">{table.label}</span>
        <Button kind="quiet" onClick={() => setTable(!isTable)}>
          {isTable ? t('chart.chart') : t('chart.table')}
        </Button>
      </figcaption>
      {isTable ? <ValueTable {...table} /> : children}
    </figure>
  )
}

function ValueTable({ label, rows, columns, format }: ValueTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section className="max-h-(--chart) overflow-auto" tabIndex={0} aria-label={label}>
      <table className="numbers w-full text-left">
        <thead className="sticky top-0 bg-panel text-muted">
          <tr>
            <th className="font-medium">{t('chart.day')}</th>
            {columns.map(one => (
              <th key={one.label} className="pl-3 text-right font-medium">
                {one.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ id, name, link }, at) => (
            <tr key={id} className="border-t border-line">
              <td className="whitespace-nowrap">
                {link ? (
                  <Link {...link} className="target underline">
                    {name}
                  </Link>
                ) : (
                  name
                )}
              </td>
              {columns.map(one => (
                <td key={one.label} className="text-right">
                  {textOf(one.values[at], format)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const textOf = (value: number | null | undefined, format: ValueTableProps['format']): string =>
  value === null || value === undefined ? '–' : format(value)
