/** Numbers by name, for a dashboard. */
export type MetricRecord = Record<string, number>;
