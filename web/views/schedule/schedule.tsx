import { Empty } from "../../parts/empty.tsx";
import "./schedule.css";

export function Schedule() {
  return <Empty title="Schedule" />;
}
