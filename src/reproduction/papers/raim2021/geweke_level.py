"""When Geweke's test is passed: shared by the table and the figure."""

BATCHES = 50  # batch means of every z
PASSED = 0.01  # least p value of a method's five moments together
